package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/proc"
)

// errTime ends a run that takes longer than it may.
var errTime = errors.New("compare: time ran out")

// runner is one run. One goroutine owns it.
type runner struct {
	c         Config
	plan      plan
	workloads []Workload
	dir       string
	began     time.Time
	targets   []target // balancers in their order, then direct
	services  []balancer.Service
	result    *Result
	step      Step

	timedLeft, idleLeft int // measurements that are still to come
}

// target is what load is offered to.
type target struct {
	name string
	spec balancer.Spec
	i    *balancer.Instance // nil: direct
	dead *bool              // it ended: no more of it
}

// Run compares. If ctx ends, or the time is over before the plan is, the result is what
// was measured until then, and says so in Partial; ctx's cause is returned only if there
// is nothing. Other errors wrap ErrConfig, errors.ErrUnsupported, or are those of
// starting programs. No process that it started is left when it returns.
func Run(ctx context.Context, c Config) (*Result, error) {
	r, err := newRunner(c)
	if err != nil {
		return nil, err
	}
	before, err := proc.Now()
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	if now, err := proc.Now(); err == nil { // after all children were waited for
		r.result.Others = now.Others(before)
	}
	return r.result, nil
}

// run starts everything, measures, and stops everything.
func (r *runner) run(ctx context.Context) (err error) {
	if r.dir, err = os.MkdirTemp("", "l4bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	ctx, cancel := context.WithTimeoutCause(ctx, r.c.Duration, errTime)
	defer cancel()
	backends, err := r.startBackends(ctx)
	defer backends.close()
	if err != nil {
		return err
	}
	defer r.stopBalancers()
	if err := r.startBalancers(ctx); err != nil {
		return err
	}
	r.rounds(ctx)
	r.result.Seconds = time.Since(r.began).Seconds()
	if len(r.result.Samples) == 0 {
		return context.Cause(ctx)
	}
	return nil
}

// newRunner checks the settings and plans the run.
func newRunner(c Config) (*runner, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	limit, err := proc.RaiseFileLimit()
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	r := &runner{c: c, began: time.Now(), workloads: slices.Clone(c.Workloads)}
	r.result = &Result{Started: r.began, Machine: proc.ThisMachine(), Base: baseOf(c.Balancers)}
	if slices.Contains(r.workloads, Latency) && c.Rate == 0 && !slices.Contains(r.workloads, Request) {
		r.workloads = append(r.workloads, Request)
	}
	r.workloads = slices.DeleteFunc(Workloads(), func(w Workload) bool { return !slices.Contains(r.workloads, w) })
	if slices.Contains(r.workloads, Idle) {
		r.result.Sessions = r.affordable(limit)
	}
	r.plan, err = newPlan(c, r.workloads, r.result.Sessions)
	r.result.Rounds = r.plan.rounds
	r.step = Step{Total: r.plan.rounds * (r.plan.timed + r.plan.idle), Rounds: r.plan.rounds, Duration: c.Duration}
	return r, err
}

// sessionDescriptors is the most that a session is expected to take in one process: two
// sockets, and a pipe in each direction.
const sessionDescriptors = 6

// affordable is how many idle sessions a limit of descriptors allows.
func (r *runner) affordable(limit uint64) int {
	most := 0
	if limit > 500 {
		most = int(min((limit-500)/sessionDescriptors, maxSessions))
	}
	if most >= r.c.Sessions {
		return r.c.Sessions
	}
	r.note("%d idle sessions instead of %d: a process may have only %d descriptors", most, r.c.Sessions, limit)
	return most
}

// room is how many sessions the balancers must have room for.
func (r *runner) room() int { return max(r.result.Sessions, 500) + 500 }

func (r *runner) note(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// rounds measures until the plan is done or ctx ends.
func (r *runner) rounds(ctx context.Context) {
	r.timedLeft, r.idleLeft = r.plan.rounds*r.plan.timed, r.plan.rounds*r.plan.idle
	for r.step.Round = 1; r.step.Round <= r.plan.rounds; r.step.Round++ {
		for k, w := range r.workloads {
			slice := r.slice()
			for i := range r.targets {
				slice = min(slice, r.slice()) // the same for all, unless time runs short
				// Everyone is first, and next to everyone else, now and then.
				r.turn(ctx, w, r.targets[(i+k+r.step.Round)%len(r.targets)], slice)
			}
			if w == Request {
				r.setRate()
			}
			if ctx.Err() != nil {
				r.result.Partial = r.cut(context.Cause(ctx))
				return
			}
		}
	}
}

// slice is how long the next timed measurement may take.
func (r *runner) slice() time.Duration {
	return r.plan.slice(r.c.Duration-time.Since(r.began), r.timedLeft, r.idleLeft)
}

// cut says why a run ended early.
func (r *runner) cut(cause error) string {
	if errors.Is(cause, errTime) {
		return fmt.Sprintf("time ran out in round %d of %d: measuring took longer than planned", r.step.Round, r.plan.rounds)
	}
	return fmt.Sprintf("interrupted in round %d of %d", r.step.Round, r.plan.rounds)
}

// turn measures w at t, and learns how long that takes.
func (r *runner) turn(ctx context.Context, w Workload, t target, slice time.Duration) {
	if w == Idle && t.i == nil {
		return
	}
	began := time.Now()
	if !*t.dead && ctx.Err() == nil {
		r.say(string(w), t.name)
		r.sample(ctx, w, t, slice)
	}
	took := time.Since(began)
	if w == Idle {
		r.idleLeft--
		r.plan.idleTime.add(took)
		return
	}
	r.timedLeft--
	r.plan.stepExtra.add(max(took-slice, 0))
}

// say reports the next step.
func (r *runner) say(what, name string) {
	r.step.Number++
	r.step.What, r.step.Target, r.step.Elapsed = what, name, time.Since(r.began)
	if r.c.Progress != nil {
		r.c.Progress(r.step)
	}
}

// sample measures w at t and keeps what came of it. What an interrupt cut is dropped.
func (r *runner) sample(ctx context.Context, w Workload, t target, slice time.Duration) {
	s := Sample{Round: r.step.Round, Workload: w, Balancer: t.name, Values: make(map[string]float64)}
	m := measurement{slice: slice, target: t, s: &s}
	err := r.measure(ctx, w, m)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.Error = err.Error()
		clear(s.Values)
	}
	if t.i != nil && t.i.Err() != nil {
		*t.dead = true
		s.Error = t.i.Err().Error()
		r.note("%s ended in %s: %s", t.name, w, s.Error)
	}
	r.result.Samples = append(r.result.Samples, s)
}

// setRate fixes the rate of Latency after the first round of Request.
func (r *runner) setRate() {
	if r.result.Rate != 0 || !slices.Contains(r.workloads, Latency) {
		return
	}
	slowest := 0.0
	for _, b := range r.c.Balancers {
		peak := r.result.Summary(b.Name, Metric{Workload: Request, Key: "rate"}).Median
		if peak > 0 && (slowest == 0 || peak < slowest) {
			slowest = peak
		}
	}
	r.result.Rate = float64(int(slowest / 2))
}
