package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(exitStatus(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

// run executes one command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// usageError is a command line that cannot be understood.
type usageError struct {
	error
	command string // to ask for help; "" = l4bench
}

// Unwrap returns what is wrong with it.
func (e usageError) Unwrap() error { return e.error }

// exitStatus reports err and returns the process's status for it.
func exitStatus(err error, stderr io.Writer) int {
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage), strings.HasPrefix(err.Error(), "unknown command"): // cobra has no type for it
		fmt.Fprintf(stderr, "l4bench: %v\nrun '%s --help' for usage\n", err, cmp.Or(usage.command, "l4bench"))
		return exitUsage
	}
	fmt.Fprintf(stderr, "l4bench: %v\n", err)
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "l4bench",
		Short:         "Measure TCP balancers",
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError{error: errors.New("which command?")}
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{err, cmd.CommandPath()} })
	root.AddCommand(newCompareCommand(), newVersionCommand(), newWorkerCommand(), newFaultBackendCommand())
	for _, name := range []string{"failover", "load"} {
		root.AddCommand(newLaterCommand(name))
	}
	return root
}

// newLaterCommand refuses a command that is not there yet, and says so.
func newLaterCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError{error: fmt.Errorf("%s: not supported yet, it comes in a later release", name)}
		},
	}
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s takes no argument %q", cmd.Name(), args[0]), cmd.CommandPath()}
}
