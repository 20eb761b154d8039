package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/failover"
	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/report"
)

// failoverFlags are the command line of failover.
type failoverFlags struct {
	balancers, adapters []string
	faults              []string
	rate                rate
	onDown              string
	json, html, old     string
	print, adapter      bool
	target              targetFlags
	config              failover.Config
}

// defaultHTML is where the report goes unless somebody wants it elsewhere.
const defaultHTML = "l4bench-failover.html"

func newFailoverCommand() *cobra.Command {
	f := failoverFlags{rate: 500}
	cmd := &cobra.Command{
		Use:   "failover",
		Short: "Measure what clients notice when a backend fails, with any balancer",
		Long: `Start backends and a balancer before them, offer load, break a backend in one of many
ways, mend it, and tell what clients noticed: how many failed and how, how late the
others were served, how long it took until the backend was given up and used again, and
what became of long sessions. For sluice, haproxy and nginx, as found on PATH (or in
/usr/sbin, /sbin or beside this program), with configurations as equal as they allow;
for other programs by an adapter (--print-adapter). Everything is on loopback.

With --target nothing is started or broken: a running system is observed while somebody
else breaks it.

Needs Linux.

Faults:
` + faultList(),
		Example: `  l4bench failover
  l4bench failover --balancer sluice --fault kill,stop,blackhole --rate 500/s --duration 10s --backends 3
  l4bench failover --compare before.json --json after.json
  l4bench failover --target 127.0.0.1:6379 --protocol redis --duration 1m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			err := f.run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
			for _, usage := range []error{failover.ErrConfig, balancer.ErrSpec, balancer.ErrAdapter, fault.ErrUnknown, errTarget} {
				if errors.Is(err, usage) {
					return usageError{err, cmd.CommandPath()}
				}
			}
			return err
		},
	}
	f.addTo(cmd)
	return cmd
}

func (f *failoverFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.balancers, "balancer", nil, "`NAMES` of balancers: sluice, haproxy, nginx; KIND=PATH, or KIND:NAME=PATH for a second of its kind; may be repeated (default all that are found)")
	flags.StringSliceVar(&f.adapters, "adapter", nil, "`FILES`, each of which describes another balancer; may be repeated")
	flags.StringSliceVar(&f.faults, "fault", nil, "`FAULTS` to measure (default all)")
	flags.Var(&f.rate, "rate", "new clients a second")
	flags.DurationVar(&f.config.Duration, "duration", 10*time.Second, "`TIME` of load in one run; with --target of all")
	flags.IntVar(&f.config.Backends, "backends", 3, "`NUMBER` of backends")
	flags.IntVar(&f.config.Rounds, "rounds", 3, "`NUMBER` of times each balancer goes through each fault")
	flags.IntVar(&f.config.Talks, "sessions", 30, "`NUMBER` of long sessions; 0 = none")
	flags.IntVar(&f.config.Hashed, "hashed", 60, "`NUMBER` of clients that are balanced by their address; 0 = none")
	flags.DurationVar(&f.config.Patience, "patience", 3*time.Second, "`TIME` a client waits before it gives up")
	flags.StringVar(&f.onDown, "on-down", "keep", "what becomes of sessions when checks take their backend down: keep or close")
	flags.StringVar(&f.json, "json", "", "`FILE` for all samples, as JSON")
	flags.StringVar(&f.html, "html", defaultHTML, "`FILE` for the report; \"\" = none")
	flags.StringVar(&f.old, "compare", "", "`FILE` of an earlier --json: say what has changed since")
	flags.BoolVar(&f.print, "print-configs", false, "print the configurations, and measure nothing")
	flags.BoolVar(&f.adapter, "print-adapter", false, "print an adapter to begin with, and measure nothing")
	f.target.add(flags)
}

// faultList is a line for each fault.
func faultList() string {
	var b strings.Builder
	for _, f := range fault.Faults() {
		fmt.Fprintf(&b, "  %-10s %s\n", f, f.Meaning())
	}
	return b.String()
}

// run measures, or prints what was asked for.
func (f *failoverFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if f.adapter {
		_, err := io.WriteString(stdout, adapterExample)
		return err
	}
	old, err := f.prepare()
	if err != nil {
		return err
	}
	if f.target.addr != "" {
		return f.observe(ctx, stdout, stderr)
	}
	var missing []string
	if f.config.Balancers, missing, err = f.find(ctx, stderr); err != nil {
		return err
	}
	if f.config.Worker, err = workerOf(faultBackendName); err != nil {
		return err
	}
	if f.print {
		return f.printConfigs(ctx, stdout)
	}
	result, err := f.measure(ctx, stderr)
	if err != nil {
		return err
	}
	result.Notes = append(missing, result.Notes...)
	if err := f.show(result, old, stdout, stderr); err != nil {
		return err
	}
	if !slices.ContainsFunc(result.Runs, func(r failover.Run) bool { return r.Error == "" }) {
		return errors.New("nothing could be measured")
	}
	return nil
}

// prepare checks what can be checked before anything is started, and reads the earlier
// result, nil if there is none to compare with.
func (f *failoverFlags) prepare() (*failover.Result, error) {
	f.config.Rate = float64(f.rate)
	f.config.Failover = balancer.Default()
	switch f.onDown {
	case "keep":
	case "close":
		f.config.Failover.Close = true
	default:
		return nil, fmt.Errorf("%w: --on-down %q: it must be keep or close", failover.ErrConfig, f.onDown)
	}
	if err := f.checkFlags(); err != nil {
		return nil, err
	}
	for _, name := range f.faults {
		v, err := fault.ParseFault(name)
		if err != nil {
			return nil, err
		}
		f.config.Faults = append(f.config.Faults, v)
	}
	for _, path := range []string{f.json, f.html} {
		if err := tryFile(path); err != nil && !f.print {
			return nil, err
		}
	}
	if f.old == "" {
		return nil, nil
	}
	return readOld(f.old)
}

// checkFlags refuses what makes no sense though it can be read. A zero would be taken
// for the default.
func (f *failoverFlags) checkFlags() error {
	c := &f.config
	switch {
	case c.Duration <= 0 || c.Patience <= 0 || c.Backends <= 0 || c.Rounds <= 0:
		return fmt.Errorf("%w: --duration, --patience, --backends and --rounds must be more than 0", failover.ErrConfig)
	case c.Talks < 0 || c.Hashed < 0:
		return fmt.Errorf("%w: --sessions and --hashed must not be negative", failover.ErrConfig)
	case f.json != "" && f.json == f.html:
		return fmt.Errorf("%w: --json and --html name the same file", failover.ErrConfig)
	case f.old != "" && f.target.addr != "":
		return fmt.Errorf("%w: --compare is for runs with balancers of one's own, not for --target", failover.ErrConfig)
	case f.target.addr != "" && len(f.balancers)+len(f.adapters)+len(f.faults) > 0:
		return fmt.Errorf("%w: --target observes, so there is nothing for --balancer, --adapter and --fault", failover.ErrConfig)
	}
	if c.Talks == 0 {
		c.Talks = -1
	}
	if c.Hashed == 0 {
		c.Hashed = -1
	}
	return nil
}

func readOld(path string) (*failover.Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := failover.ReadResult(file)
	if err != nil {
		return nil, fmt.Errorf("--compare %s: %w", path, err)
	}
	return r, nil
}

// find returns the balancers that were named, or all that are there, and those of
// adapters.
func (f *failoverFlags) find(ctx context.Context, stderr io.Writer) (found []balancer.Spec, missing []string, err error) {
	for _, path := range f.adapters {
		spec, err := readAdapter(path)
		if err == nil {
			spec, err = spec.Find(ctx)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--adapter %s: %w", path, err)
		}
		found = append(found, spec)
	}
	if len(f.balancers) == 0 && len(found) > 0 {
		return found, nil, nil
	}
	known, missing, err := findBalancers(ctx, f.balancers, stderr)
	return append(known, found...), missing, err
}

func (f *failoverFlags) printConfigs(ctx context.Context, stdout io.Writer) error {
	all, err := failover.Configs(ctx, f.config)
	if err != nil {
		return err
	}
	for _, b := range all {
		fmt.Fprintf(stdout, "# %s: %s (%s)\n", b.Name, b.Path, b.Version)
		for _, text := range b.Cannot {
			fmt.Fprintf(stdout, "# it has %s\n", text)
		}
		if _, err := fmt.Fprintln(stdout, b.Config); err != nil {
			return err
		}
	}
	return nil
}

// measure makes all runs.
func (f *failoverFlags) measure(ctx context.Context, stderr io.Writer) (*failover.Result, error) {
	expected, err := failover.Expected(f.config)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "this takes about %v; an interrupt ends it with what there is by then\n", roughly(expected))
	progress := newProgress(stderr, os.Getenv)
	f.config.Progress = progress.run
	result, err := failover.Measure(ctx, f.config)
	progress.end()
	if err != nil {
		return nil, err
	}
	result.Command = append([]string{"l4bench"}, os.Args[1:]...)
	return result, nil
}

// show prints the tables, and what has changed since an earlier result if there is one, and
// writes the files.
func (f *failoverFlags) show(r, old *failover.Result, stdout, stderr io.Writer) error {
	_, color := terminal(stdout, os.Getenv)
	since := (*failover.Comparison)(nil)
	if old != nil {
		since = failover.Compare(old, r)
	}
	err := printFailover(r, since, stdout, color)
	if f.json != "" {
		err = errors.Join(err, writeFile(f.json, func(w io.Writer) error { return json.NewEncoder(w).Encode(r) }))
	}
	if f.html != "" {
		page := writeFile(f.html, r.Page(since).Write)
		if page == nil {
			fmt.Fprintf(stderr, "report: %s\n", f.html)
		}
		err = errors.Join(err, page)
	}
	return err
}

// printFailover prints what a reader of the terminal needs.
func printFailover(r *failover.Result, since *failover.Comparison, w io.Writer, color bool) error {
	m := r.Machine
	fmt.Fprintf(w, "%d cores, %s, Linux %s, %s\n", m.Cores, m.CPU, m.Kernel, r.Started.Format("2006-01-02 15:04:05"))
	for _, b := range r.Balancers {
		fmt.Fprintf(w, "%s: %s\n", b.Name, b.Version)
	}
	for _, t := range []report.Table{r.Overview(), r.Table()} {
		fmt.Fprintln(w)
		if err := t.WriteText(w, color); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\n%s\n", r.Legend())
	for _, text := range r.Remarks() {
		fmt.Fprintln(w, text)
	}
	for _, text := range r.Warnings() {
		fmt.Fprintf(w, "! %s\n", text)
	}
	if since == nil {
		return nil
	}
	fmt.Fprintln(w)
	return since.WriteText(w, color)
}

// roughly rounds to what a person plans with.
func roughly(d time.Duration) time.Duration {
	if d < 2*time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Minute)
}
