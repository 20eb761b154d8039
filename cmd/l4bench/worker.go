package main

import (
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/bench/stream"
)

// workerName is the command that serves bulk data in a process of its own, so that its
// CPU is neither the balancer's nor the clients'.
const workerName = "stream-server"

func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    workerName + " ADDR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			ln, err := net.Listen("tcp", args[0])
			if err != nil {
				return err
			}
			return stream.Serve(ctx, ln)
		},
	}
}
