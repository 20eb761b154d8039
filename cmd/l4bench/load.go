package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/bench/load"
)

// loadFlags are the command line of load.
type loadFlags struct {
	target      targetFlags
	rate        rate
	connections int
	duration    time.Duration
	json        string
}

// Bounds of a load: what one machine's ports, descriptors and memory allow.
const (
	mostLoad        = time.Hour
	mostConnections = 10_000
	mostVisits      = 10_000_000
	loadPatience    = 5 * time.Second
)

func newLoadCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Offer load to a running system, and tell how late its answers come",
		Long: `Offer load to a running system for a while. With --rate, that many new clients come each
second, whether or not the earlier ones were served: each connects, exchanges once and
leaves, and is counted from the instant at which it was due. With --connections, so many
clients keep a connection each and exchange on it as fast as answers come. With both,
requests are due at that rate on those connections (redis and echo only).`,
		Example: `  l4bench load --target 127.0.0.1:6379 --protocol redis --rate 1000/s
  l4bench load --target 127.0.0.1:8080 --protocol http --path /health --connections 50 --duration 1m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			err := f.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if errors.Is(err, errTarget) {
				return usageError{err, cmd.CommandPath()}
			}
			return err
		},
	}
	f.target.add(cmd.Flags())
	cmd.Flags().Var(&f.rate, "rate", "new clients, or requests on --connections, a second, as 500/s")
	cmd.Flags().IntVar(&f.connections, "connections", 0, "`NUMBER` of connections that are kept")
	cmd.Flags().DurationVar(&f.duration, "duration", 10*time.Second, "`TIME` to go on for")
	cmd.Flags().StringVar(&f.json, "json", "", "`FILE` for the figures, as JSON; - = instead of the table")
	return cmd
}

// loadResult is what came of it. Its tags are the JSON format; times are in milliseconds.
type loadResult struct {
	Target      string             `json:"target"`
	Protocol    string             `json:"protocol"`
	Rate        float64            `json:"rate,omitempty"`
	Connections int                `json:"connections,omitempty"`
	Seconds     float64            `json:"seconds"`
	Served      int64              `json:"served"`
	Failed      map[string]int64   `json:"failed"`
	FirstError  string             `json:"first_error,omitempty"`
	LatencyMS   map[string]float64 `json:"latency_ms"`
}

func (f *loadFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	addr, protocol, err := f.check(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s at %s: %s, for %v\n", protocol.Name, addr, f.manner(), f.duration)
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	var tally load.Tally
	latency := load.NewLatency()
	began := time.Now()
	f.offer(ctx, addr, protocol, &tally, latency)
	r := f.result(addr, &tally, latency, time.Since(began))
	if err := f.show(r, stdout); err != nil {
		return err
	}
	if r.Served == 0 {
		return fmt.Errorf("nothing was served at %s: %s", addr, r.FirstError)
	}
	return nil
}

// check refuses what makes no sense, and returns what to load with what.
func (f *loadFlags) check(ctx context.Context) (addr string, protocol load.Protocol, err error) {
	switch {
	case f.target.addr == "":
		return "", protocol, fmt.Errorf("%w: --target is missing: HOST:PORT of what to load", errTarget)
	case f.rate == 0 && f.connections == 0:
		return "", protocol, fmt.Errorf("%w: say --rate (new clients a second) or --connections (clients that stay)", errTarget)
	case f.connections < 0 || f.connections > mostConnections:
		return "", protocol, fmt.Errorf("%w: --connections %d: 1 to %d are possible", errTarget, f.connections, mostConnections)
	case f.duration <= 0 || f.duration > mostLoad:
		return "", protocol, fmt.Errorf("%w: --duration %v: more than 0 and at most %v is possible", errTarget, f.duration, mostLoad)
	case f.rate > 0 && float64(f.rate)*f.duration.Seconds() > mostVisits:
		return "", protocol, fmt.Errorf("%w: %s for %v are more than %d clients: take a lower --rate or a shorter --duration", errTarget, f.rate.String(), f.duration, mostVisits)
	case f.rate > 0 && f.connections > 0 && f.target.protocol != "redis" && f.target.protocol != "echo":
		return "", protocol, fmt.Errorf("%w: --rate with --connections sends before earlier answers are in, which only redis and echo allow: take one of them", errTarget)
	}
	if protocol, err = f.target.exchange(); err != nil {
		return "", protocol, err
	}
	addr, err = f.target.resolve(ctx)
	return addr, protocol, err
}

// manner says in which way load is offered.
func (f *loadFlags) manner() string {
	switch {
	case f.rate == 0:
		return fmt.Sprintf("%d connections, as fast as answers come", f.connections)
	case f.connections == 0:
		return f.rate.String() + " new clients"
	}
	return fmt.Sprintf("%s requests on %d connections", f.rate.String(), f.connections)
}

// offer offers the load until ctx ends.
func (f *loadFlags) offer(ctx context.Context, addr string, p load.Protocol, t *load.Tally, l *load.Latency) {
	switch {
	case f.rate == 0 && f.target.protocol == "connect":
		load.Connections{Addr: addr, Protocol: p, Clients: f.connections, Latency: l, AnySource: true}.Run(ctx, t)
	case f.rate == 0:
		load.Requests{Addr: addr, Protocol: p, Clients: f.connections, Latency: l}.Run(ctx, t)
	case f.connections > 0:
		load.Open{Addr: addr, Protocol: p, Connections: f.connections, Rate: float64(f.rate), Pause: load.Sleep}.Run(ctx, t, l, nil)
	default:
		f.visits(ctx, addr, p, t, l)
	}
}

// visits are new clients at a rate.
func (f *loadFlags) visits(ctx context.Context, addr string, p load.Protocol, t *load.Tally, l *load.Latency) {
	load.Arrivals{
		Addr: addr, Rate: float64(f.rate), Patience: loadPatience, Exchange: load.Once(p),
		Each: func(v load.Visit) {
			if v.Failure != "" {
				t.Fail(v.Err)
				return
			}
			l.Record(v.Took)
			t.Add(1)
		},
	}.Run(ctx)
}

// result gathers what was counted.
func (f *loadFlags) result(addr string, t *load.Tally, l *load.Latency, took time.Duration) loadResult {
	r := loadResult{
		Target: addr, Protocol: f.target.protocol, Rate: float64(f.rate), Connections: f.connections, Seconds: took.Seconds(),
		Served: t.Done(), Failed: make(map[string]int64), LatencyMS: make(map[string]float64),
	}
	for kind, n := range t.Failures() {
		r.Failed[string(kind)] = n
	}
	if err := t.Err(); err != nil {
		r.FirstError = err.Error()
	}
	for _, q := range quantiles() {
		r.LatencyMS[q.name] = l.Quantile(q.share).Seconds() * 1000
	}
	return r
}

type quantile struct {
	name  string
	share float64
}

func quantiles() []quantile {
	return []quantile{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}
}

func (f *loadFlags) show(r loadResult, stdout io.Writer) error {
	encode := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(r)
	}
	if f.json == "-" {
		return encode(stdout)
	}
	if f.json != "" {
		if err := writeFile(f.json, encode); err != nil {
			return err
		}
	}
	return r.print(stdout)
}

// print prints what a person wants to know.
func (r loadResult) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "served   %d, %.0f/s\n", r.Served, float64(r.Served)/r.Seconds)
	var failed []string
	var sum int64
	for _, kind := range slices.Sorted(maps.Keys(r.Failed)) {
		failed = append(failed, fmt.Sprintf("%d %s", r.Failed[kind], kind))
		sum += r.Failed[kind]
	}
	fmt.Fprintf(&b, "failed   %d", sum)
	if sum > 0 {
		fmt.Fprintf(&b, ": %s; first: %s", strings.Join(failed, ", "), r.FirstError)
	}
	b.WriteString("\nlatency ")
	for _, q := range quantiles() {
		fmt.Fprintf(&b, " %s %s ", q.name, time.Duration(r.LatencyMS[q.name]*float64(time.Millisecond)).Round(time.Microsecond))
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	return err
}

// interruptible ends with an interrupt, also from the terminal's end; a second ends the
// process at once.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
