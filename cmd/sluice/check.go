package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/app"
	"github.com/sluicelb/sluice/cmd/sluice/config"
)

func newCheckCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a file and print it with every default filled in",
		Long: `Check a file. If it is right, print it with every default filled in: what is
printed is itself a file of the same meaning. If not, print every fault as
FILE:LINE:COL and exit with status 1. What is allowed but seldom meant, and
passwords that cannot be read here, are warnings on stderr.`,
		Args: noArgs(": use -c FILE"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := loadFile(path)
			if err != nil {
				return err
			}
			for _, w := range app.Advice(file) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: %s\n", path, w)
			}
			_, err = cmd.OutOrStdout().Write(config.Format(file))
			return err
		},
	}
	fileFlag(cmd, &path)
	return cmd
}

func fileFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "config", "c", "", "the configuration `FILE`")
}

// loadFile reads the file that -c names.
func loadFile(path string) (config.File, error) {
	if path == "" {
		return config.File{}, usageError{error: errNoFile}
	}
	return config.Load(path)
}
