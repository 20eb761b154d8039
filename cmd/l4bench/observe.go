package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/sluicelb/sluice/bench/failover"
)

// observe offers load to a running system, and tells what its clients notice while
// somebody else breaks it: a line a second, then the figures.
func (f *failoverFlags) observe(ctx context.Context, stdout, stderr io.Writer) error {
	protocol, err := f.target.exchange()
	if err != nil {
		return err
	}
	addr, err := f.target.resolve(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s at %s, %s new clients, for %v; an interrupt ends it with what there is by then\n",
		protocol.Name, addr, f.rate.String(), f.config.Duration)
	result, err := failover.Observe(ctx, failover.Target{
		Addr: addr, Protocol: protocol, Rate: f.config.Rate, Duration: f.config.Duration, Patience: f.config.Patience,
		Speech: f.target.speech(), Talks: f.config.Talks,
		Second: func(s failover.Second) { fmt.Fprintln(stdout, s) },
	})
	if err != nil {
		return err
	}
	result.Command = append([]string{"l4bench"}, os.Args[1:]...)
	return f.show(result, nil, stdout, stderr)
}
