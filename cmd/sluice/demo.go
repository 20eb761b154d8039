package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/sluice/demo"
)

func newDemoCommand() *cobra.Command {
	var opt demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Three backends and a balancer on loopback, to play with",
		Long: `Run three HTTP backends, a balancer before them and a client that keeps asking, all
on loopback and in one process. Backends can be killed, revived, and made to fail
their check, by a curl command that is printed, or by --chaos. Exit status 1 with
--chaos means that a request failed.

A kill waits for the instant in which the built-in client has no request under way:
what a dying backend takes with it no TCP balancer can give back. All requests after
that instant count.`,
		Args: noArgs(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process at once
			opt.Live, opt.Color = demo.Terminal(cmd.OutOrStdout(), os.Getenv)
			err := demo.Run(ctx, opt, cmd.OutOrStdout())
			if errors.Is(err, demo.ErrOptions) {
				return usageError{err, cmd.CommandPath()}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.Chaos, "chaos", false, "kill and revive a backend every few seconds")
	f.DurationVar(&opt.Every, "every", 0, "with --chaos: `TIME` from one kill to the next, at least 2s (default 4s)")
	f.Uint64Var(&opt.Seed, "seed", 0, "with --chaos: `NUMBER` that decides which backends are killed (default random)")
	f.IntVar(&opt.Rate, "rate", 0, "`REQUESTS` a second of the built-in client, at most 500 (default 5, with --chaos 80)")
	f.DurationVar(&opt.Duration, "duration", 0, "end by itself after this `TIME` (default never)")
	f.IntVar(&opt.Port, "port", 0, "preferred `PORT` of the balancer; the other ports follow it (default 8080)")
	return cmd
}
