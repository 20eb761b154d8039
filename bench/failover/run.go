package failover

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/proc"
)

// runner makes all runs. One goroutine owns it.
type runner struct {
	c      Config
	dir    string
	began  time.Time
	step   Step
	result *Result
	broken map[string]bool // balancers that could not be started, by name
}

// overhead is about how long a run takes besides its load: starting, stopping, and the
// patience of the last clients.
const overhead = 1500 * time.Millisecond

// Expected is about how long Measure takes with c. An error wraps ErrConfig.
func Expected(c Config) (time.Duration, error) {
	c, err := c.withDefaults()
	return time.Duration(c.Rounds*len(c.Faults)*len(c.Balancers)) * (c.Duration + overhead), err
}

// Measure makes all runs. If ctx ends before all runs are made, the result has those that are, and
// says so in Partial; ctx's cause is returned only if there is none. Other errors wrap
// ErrConfig, errors.ErrUnsupported, or are those of starting programs. No process that
// it started is left when it returns.
func Measure(ctx context.Context, c Config) (*Result, error) {
	r, err := newRunner(c)
	if err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "l4bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	before, err := proc.Now()
	if err != nil {
		return nil, fmt.Errorf("failover: %w", err)
	}
	if err := r.rounds(ctx); err != nil {
		return nil, err
	}
	r.result.Seconds = time.Since(r.began).Seconds()
	if now, err := proc.Now(); err == nil { // after all children were waited for
		r.result.Others = now.Others(before)
	}
	return r.result, nil
}

// newRunner checks the settings.
func newRunner(c Config) (*runner, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	limit, err := proc.RaiseFileLimit()
	if err != nil {
		return nil, fmt.Errorf("failover: %w", err)
	}
	if need := c.descriptors(); limit < need {
		return nil, fmt.Errorf("%w: a limit of %d descriptors is too low: a balancer may need %d while clients wait; "+
			"raise it (ulimit -Hn), or lower the rate or the patience", ErrConfig, limit, need)
	}
	r := &runner{c: c, began: time.Now(), broken: make(map[string]bool)}
	r.result = &Result{
		Started: r.began, Machine: proc.ThisMachine(), Rounds: c.Rounds, Rate: c.Rate, Talks: c.Talks, Hashed: c.Hashed, Backends: c.Backends,
	}
	for _, f := range c.Faults {
		r.result.Faults = append(r.result.Faults, string(f))
	}
	for _, b := range c.Balancers {
		r.result.Balancers = append(r.result.Balancers, Balancer{
			Name: b.Name, Kind: string(b.Kind), Path: b.Path, Version: b.Version, Cannot: b.Cannot(c.Failover),
		})
	}
	r.step = Step{Total: c.Rounds * len(c.Faults) * len(c.Balancers), Rounds: c.Rounds}
	r.step.Expected = time.Duration(r.step.Total) * (c.Duration + overhead)
	return r, nil
}

func (r *runner) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// rounds makes every run: in each round every fault, in each fault every balancer, in
// another order each time.
func (r *runner) rounds(ctx context.Context) error {
	for r.step.Round = 1; r.step.Round <= r.c.Rounds; r.step.Round++ {
		for i, f := range r.c.Faults {
			for k := range r.c.Balancers {
				r.make(ctx, r.c.Balancers[(k+i+r.step.Round)%len(r.c.Balancers)], f)
				if ctx.Err() != nil {
					return r.cut(context.Cause(ctx))
				}
			}
		}
	}
	return nil
}

// cut ends early: with what there is, or with why if that is nothing.
func (r *runner) cut(cause error) error {
	if len(r.result.Runs) == 0 {
		return cause
	}
	r.result.Partial = fmt.Sprintf("interrupted in round %d of %d", r.step.Round, r.c.Rounds)
	return nil
}

// make makes one run. A balancer that cannot be started is not tried again.
func (r *runner) make(ctx context.Context, b balancer.Spec, f fault.Fault) {
	r.say(b.Name, f)
	if r.broken[b.Name] {
		return
	}
	a, err := oneRun(ctx, r.c, b, f, r.step.Round, r.dir)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.broken[b.Name] = true
		r.note("%s could not be measured from %s on (round %d): %v.", b.Name, f, r.step.Round, err)
		a.run = Run{Balancer: b.Name, Fault: string(f), Round: r.step.Round, Length: r.c.Duration, Error: err.Error()}
	}
	r.result.Notes = append(r.result.Notes, a.notes...)
	r.result.Runs = append(r.result.Runs, a.run)
	for i := range r.result.Balancers {
		if v := &r.result.Balancers[i]; v.Name == b.Name && v.Config == "" {
			v.Config = a.config
		}
	}
}

// say reports the next run.
func (r *runner) say(name string, f fault.Fault) {
	r.step.Number++
	r.step.Balancer, r.step.Fault, r.step.Elapsed = name, string(f), time.Since(r.began)
	if r.c.Progress != nil {
		r.c.Progress(r.step)
	}
}

// Configs returns the balancers of c with the configuration that each would have, with
// addresses that are free now and backends that do not exist. Errors are those of Measure.
func Configs(ctx context.Context, c Config) ([]Balancer, error) {
	r, err := newRunner(c)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for i := range r.c.Backends {
		addrs = append(addrs, fmt.Sprintf("127.0.1.%d:80", i+1))
	}
	for i, b := range r.c.Balancers {
		r.result.Balancers[i].Config, err = balancer.Config(ctx, b, os.TempDir(), r.c.settings(addrs))
		if err != nil {
			return nil, err
		}
	}
	return r.result.Balancers, nil
}
