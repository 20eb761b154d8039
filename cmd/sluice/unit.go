package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
)

// What the commands below print.
var (
	//go:embed docs/sluice.service
	serviceUnit string
	//go:embed docs/sluice.socket
	socketUnit string
	//go:embed docs/Containerfile
	containerfile string
)

func newUnitCommand() *cobra.Command {
	var socket bool
	cmd := &cobra.Command{
		Use:   "unit [--socket]",
		Short: "Print a hardened unit for systemd",
		Long: `Print a service unit for systemd, in which sluice has no right but to listen on ports
below 1024. It expects /usr/local/bin/sluice and /etc/sluice/sluice.yaml.`,
		Example: `  sluice unit > /etc/systemd/system/sluice.service
  sluice unit --socket > /etc/systemd/system/sluice.socket`,
		Args: noArgs(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := serviceUnit
			if socket {
				text = socketUnit
			}
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&socket, "socket", false, "print the unit of sockets that systemd holds for it, for listen: fd:NAME")
	return cmd
}

func newContainerCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "container",
		Short:   "Print a Containerfile",
		Long:    "Print a Containerfile that builds sluice from its source into an image of one static file.",
		Example: "  sluice container > Containerfile && podman build -t sluice .",
		Args:    noArgs(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), containerfile)
			return err
		},
	}
}
