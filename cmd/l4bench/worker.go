package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/bench/fault"
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

// faultBackendName is the command that is one of the backends that are broken: its number,
// from 0, and address follow. It is spoken with on stdin and stdout.
const faultBackendName = "fault-backend"

func newFaultBackendCommand() *cobra.Command {
	return &cobra.Command{
		Use:    faultBackendName + " ID ADDR",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			id, err := strconv.Atoi(args[0])
			if err != nil || id < 0 {
				return usageError{fmt.Errorf("%q is no backend's number", args[0]), cmd.CommandPath()}
			}
			return fault.Serve(ctx, id, args[1], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
