package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/compare"
)

// compareFlags are the command line of compare.
type compareFlags struct {
	balancers  []string
	only       []string
	json, html string
	print      bool
	config     compare.Config
}

func newCompareCommand() *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Measure balancers side by side, with equal configurations and the same backends",
		Long: `Start sluice, haproxy and nginx, as found on PATH (or in /usr/sbin, /sbin or beside
this program), with equal configurations before the same backends, offer each the same load in turn, and show what each costs: CPU a
connection, a request and a GB, memory and descriptors an idle session, throughput,
and latency at a fixed rate. Everything is on loopback. Whatever else runs on the
machine disturbs the figures: the spread tells how much.

Needs Linux, nginx and redis-server (as backends); programs that are missing are left
out, and said to be.`,
		Example: `  l4bench compare
  l4bench compare --duration 3m --html report.html --json report.json
  l4bench compare --balancer sluice=./new --balancer sluice:old=./old --only connection,request`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			err := runCompare(ctx, flags, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if errors.Is(err, compare.ErrConfig) || errors.Is(err, balancer.ErrSpec) {
				return usageError{err, cmd.CommandPath()}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.balancers, "balancer", nil, "`NAMES` of balancers: sluice, haproxy, nginx; KIND=PATH, or KIND:NAME=PATH for a second of its kind; may be repeated (default all that are found)")
	f.StringSliceVar(&flags.only, "only", nil, "`WORKLOADS` to measure: "+strings.Join(compare.Groups(), ", ")+" (default all)")
	f.DurationVar(&flags.config.Duration, "duration", time.Minute, "`TIME` for everything")
	f.IntVar(&flags.config.Rounds, "rounds", 0, "`NUMBER` of times each is measured (default as many as the time allows, at most 5)")
	f.IntVar(&flags.config.Sessions, "sessions", 3000, "`NUMBER` of idle sessions")
	f.Float64Var(&flags.config.Rate, "rate", 0, "`REQUESTS` a second of the latency workload (default half of the slowest balancer's peak)")
	f.StringVar(&flags.json, "json", "", "`FILE` for every sample, as JSON")
	f.StringVar(&flags.html, "html", "", "`FILE` for a page with charts")
	f.BoolVar(&flags.print, "print-configs", false, "print the configurations, and measure nothing")
	return cmd
}

// runCompare measures, and shows what came of it.
func runCompare(ctx context.Context, flags compareFlags, stdout, stderr io.Writer) error {
	if err := flags.check(); err != nil {
		return err
	}
	var err error
	if flags.config.Workloads, err = compare.Select(flags.only); err != nil {
		return err
	}
	var missing []string
	if flags.config.Balancers, missing, err = findBalancers(ctx, flags.balancers, stderr); err != nil {
		return err
	}
	if flags.config.Worker, err = workerOf(workerName); err != nil {
		return err
	}
	if flags.print {
		return printConfigs(ctx, flags.config, stdout)
	}
	if err := flags.tryFiles(); err != nil {
		return err
	}
	progress := newProgress(stderr, os.Getenv)
	flags.config.Progress = progress.step
	result, err := compare.Run(ctx, flags.config)
	progress.end()
	if err != nil {
		return err
	}
	result.Command = append([]string{"l4bench"}, os.Args[1:]...)
	result.Notes = append(missing, result.Notes...)
	return flags.show(result, stdout)
}

// check refuses what makes no sense though it can be read.
func (f compareFlags) check() error {
	switch {
	case f.config.Duration <= 0:
		return fmt.Errorf("%w: --duration %v: it must be more than 0", compare.ErrConfig, f.config.Duration)
	case f.config.Sessions <= 0:
		return fmt.Errorf("%w: --sessions %d: it must be more than 0", compare.ErrConfig, f.config.Sessions)
	case f.print && (f.json != "" || f.html != ""):
		return fmt.Errorf("%w: --print-configs measures nothing, so there is nothing for --json or --html", compare.ErrConfig)
	case f.json != "" && f.json == f.html:
		return fmt.Errorf("%w: --json and --html name the same file", compare.ErrConfig)
	}
	return nil
}

// tryFiles tells, before anything is measured, whether the files can be written.
func (f compareFlags) tryFiles() error {
	return errors.Join(tryFile(f.json), tryFile(f.html))
}

// tryFile tells whether a file can be written; "" is none.
func tryFile(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return file.Close()
}

// findBalancers returns those named, or all kinds, that are there; what is missing is
// said, and returned as sentences. It is an error if none is there.
func findBalancers(ctx context.Context, named []string, stderr io.Writer) (found []balancer.Spec, missing []string, err error) {
	if len(named) == 0 {
		for _, k := range balancer.Kinds() {
			named = append(named, string(k))
		}
	}
	for _, text := range named {
		spec, err := balancer.ParseSpec(text)
		if err != nil {
			return nil, nil, err
		}
		spec, err = spec.Find(ctx)
		switch {
		case err == nil:
			found = append(found, spec)
		case spec.Path != "": // it was meant to be there
			return nil, nil, err
		default:
			fmt.Fprintf(stderr, "left out: %v\n", err)
			missing = append(missing, fmt.Sprintf("Left out: %v.", err))
		}
	}
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("none of %s was found: nothing to compare", strings.Join(named, ", "))
	}
	return found, missing, nil
}

// workerOf is the command line that runs this program as one of its workers.
func workerOf(name string) ([]string, error) {
	self, err := os.Executable()
	return []string{self, name}, err
}

func printConfigs(ctx context.Context, c compare.Config, stdout io.Writer) error {
	all, err := compare.Configs(ctx, c)
	if err != nil {
		return err
	}
	for _, b := range all {
		if _, err := fmt.Fprintf(stdout, "# %s: %s (%s)\n%s\n", b.Name, b.Path, b.Version, b.Config); err != nil {
			return err
		}
	}
	return nil
}
