package failover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/talk"
)

// Names of the services.
const (
	serviceAny  = "any"
	serviceHash = "hash"
)

// readyWithin is how long a balancer may take until it has reached every backend.
const readyWithin = 10 * time.Second

// one makes one run, with backends and a balancer of its own.
type one struct {
	c        Config
	balancer balancer.Spec
	fault    fault.Fault
	fleet    *fault.Fleet
	instance *balancer.Instance
	since    time.Time // when the load began
	saw      observed
}

// outcome is a run, and the configuration that the balancer had.
type outcome struct {
	run    Run
	config string
	notes  []string
}

// oneRun makes a run with its files below dir. An error is one of starting, or ctx's
// cause; what goes wrong later is said in the run.
func oneRun(ctx context.Context, c Config, b balancer.Spec, f fault.Fault, round int, dir string) (outcome, error) {
	dir, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		return outcome{}, err
	}
	o := &one{c: c, balancer: b, fault: f, saw: observed{reached: make(map[uint64]bool)}}
	defer o.stop()
	if err := o.start(ctx, dir); err != nil {
		return outcome{}, err
	}
	if err := o.ready(ctx); err != nil {
		return outcome{}, err
	}
	err = o.offer(ctx)
	if ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	run := Run{Balancer: b.Name, Fault: string(f), Round: round, Length: c.Duration}
	o.report(&run, err)
	return outcome{run, o.instance.Config, o.notes()}, nil
}

// notes are what backends say of messages that no client has sent so: the balancer's doing, of
// which a client sees a reset only.
func (o *one) notes() (all []string) {
	for i := range o.c.Backends {
		if err := o.fleet.Wrong(i); err != nil {
			all = append(all, fmt.Sprintf("%s, %s: %v.", o.balancer.Name, o.fault, err))
		}
	}
	return all
}

// start starts the backends, and the balancer before them.
func (o *one) start(ctx context.Context, dir string) error {
	var err error
	if o.fleet, err = fault.Start(ctx, o.c.Backends, o.c.Worker, dir); err != nil {
		return err
	}
	o.instance, err = balancer.Start(ctx, o.balancer, dir, o.c.settings(o.fleet.Addrs()))
	return err
}

// settings are those of every balancer.
func (c Config) settings(backends []string) balancer.Settings {
	f := c.Failover
	f.Send, f.Expect = probe()
	return balancer.Settings{
		Services: []balancer.Service{{Name: serviceAny, Backends: backends}, {Name: serviceHash, Backends: backends, Hash: true}},
		Sessions: c.sessions(), Failover: &f,
	}
}

// probe is what a check sends, and the part of the answer that all backends share.
func probe() (send, expect string) {
	request := talk.Request(nil, checkSession, 0)
	return string(request), string(talk.Answer(nil, checkSession, 0, 0)[:talk.Common])
}

// sessions is how many there can be at once: clients that are held up, and all others.
func (c Config) sessions() int {
	return int((c.Rate+float64(c.Hashed)/hashedEvery.Seconds())*c.Patience.Seconds()) + c.Talks + 200
}

// descriptors is how many one process may need: two a session, and some for itself.
func (c Config) descriptors() uint64 { return uint64(2*c.sessions() + 200) }

func (o *one) stop() {
	if o.instance != nil {
		o.instance.Close()
	}
	if o.fleet != nil {
		o.fleet.Close()
	}
}

// ready waits until every backend has been reached through the balancer.
func (o *one) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	reached := make(map[int]bool)
	var last error
	for len(reached) < o.c.Backends {
		if err := o.instance.Err(); err != nil {
			return err
		}
		backend, err := visit(ctx, o.instance.Addr(serviceAny))
		last = err
		if err == nil && !reached[backend] {
			reached[backend] = true
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("failover: %s reached %d of %d backends in %v: %w", o.balancer.Name, len(reached), o.c.Backends, readyWithin, errors.Join(context.Cause(ctx), last))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// visit is one client that is in no hurry.
func visit(ctx context.Context, addr string) (backend int, err error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return -1, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return -1, err
	}
	return talk.Exchange(c, checkSession)
}

// offer offers the load and follows the plan. The error is an injection that failed.
func (o *one) offer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.c.Duration)
	defer cancel()
	o.since = time.Now()
	var all sync.WaitGroup
	all.Go(func() { o.saw.any = o.visits().Run(ctx) })
	if o.c.Hashed > 0 {
		all.Go(func() { o.saw.hashed = o.hashed().Run(ctx) })
	}
	if o.c.Talks > 0 {
		all.Go(func() { o.saw.talks = o.talkers().Run(ctx) })
	}
	err := o.follow(ctx)
	all.Wait()
	return err
}

// Where the numbers of sessions begin; those of checks come from anywhere else.
const (
	checkSession = iota << 32
	anySession
	hashedSession
	talkSession
)

// anySources is how many addresses the clients of "any" have, so that ports do not run
// out; hashed clients have those behind them.
const anySources = 250

func (o *one) visits() load.Arrivals {
	return load.Arrivals{
		Addr: o.instance.Addr(serviceAny), Rate: o.c.Rate, Sources: anySources, Patience: o.c.Patience, Since: o.since,
		Exchange: talk.Exchange, FirstSession: anySession,
	}
}

func (o *one) hashed() load.Arrivals {
	return load.Arrivals{
		Addr: o.instance.Addr(serviceHash), Rate: float64(o.c.Hashed) / hashedEvery.Seconds(), Sources: o.c.Hashed, FirstSource: anySources,
		Patience: o.c.Patience, Since: o.since, Exchange: talk.Exchange, FirstSession: hashedSession,
	}
}

func (o *one) talkers() load.Talkers {
	return load.Talkers{Addr: o.instance.Addr(serviceAny), Speech: load.Numbered(), Clients: o.c.Talks, Since: o.since, Stuck: StuckAfter, FirstSession: talkSession}
}

// follow breaks and mends as planned.
func (o *one) follow(ctx context.Context) error {
	for _, a := range plan(o.fault, o.c.Backends, o.c.Duration) {
		select {
		case <-ctx.Done():
			return nil // the load has ended early: an interrupt
		case <-time.After(time.Until(o.since.Add(a.at))):
		}
		do := o.fleet.Break
		if a.mend {
			do = o.fleet.Mend
		}
		if err := do(ctx, a.backend, a.fault); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// report computes what the run tells. What went wrong in it is told instead, if it did.
func (o *one) report(r *Run, err error) {
	o.saw.backends, o.saw.length = o.c.Backends, o.c.Duration
	for i := range o.c.Backends {
		if e := o.gather(i); err == nil {
			err = e
		}
	}
	if e := o.instance.Err(); e != nil {
		err = e
	}
	o.saw.fill(r)
	if err != nil {
		r.Error = err.Error()
	}
}

// gather asks backend i, and who broke it, what they know.
func (o *one) gather(i int) error {
	periods, err := o.fleet.Periods(i)
	if err != nil {
		return err
	}
	for _, p := range periods {
		out := Outage{Backend: i, From: p.From.Sub(o.since), Ends: p.Fault.Ends(), Silences: p.Fault.Silences()}
		if !p.To.IsZero() {
			out.To = p.To.Sub(o.since)
		}
		o.saw.outages = append(o.saw.outages, out)
	}
	seen, err := o.fleet.Seen(i)
	for _, s := range seen {
		o.saw.reached[s.Session] = true
	}
	return err
}
