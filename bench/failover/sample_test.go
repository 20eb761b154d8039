package failover

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/proc"
)

// behaviour is how a made-up balancer deals with a broken backend.
type behaviour struct {
	name string
	// detect and recover are how long it sends to a dead backend, and not to one that lives.
	detect, recover time.Duration
	// fails is the share of those sent to a dead backend that fails; the others are late.
	fails float64
	delay time.Duration
	stuck int
}

func behaviours() []behaviour {
	return []behaviour{
		{"sluice", 0, 400 * time.Millisecond, 0, 2 * time.Millisecond, 3},
		{"haproxy", 300 * time.Millisecond, 600 * time.Millisecond, 0.1, 220 * time.Millisecond, 9},
		{"nginx", 900 * time.Millisecond, time.Second, 0.7, 1100 * time.Millisecond, 20},
	}
}

// sample is a result as a real machine would give it, but always the same: of the given
// faults, or all.
func sample(rounds int, faults ...fault.Fault) *Result {
	if len(faults) == 0 {
		faults = fault.Faults()
	}
	r := &Result{
		Started: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Seconds: 1234.5, Command: []string{"l4bench", "failover", "--rate", "500/s"},
		Machine: proc.Machine{System: "linux/amd64", Kernel: "6.12", CPU: "a CPU", Cores: 2, Go: "go1.30"},
		Rounds:  rounds, Rate: 500, Talks: 30, Hashed: 60, Backends: 3,
	}
	for _, b := range behaviours() {
		r.Balancers = append(r.Balancers, Balancer{Name: b.name, Kind: b.name, Path: "/usr/sbin/" + b.name, Version: b.name + " 1.2", Config: "listen <x>\n"})
	}
	r.Balancers[2].Cannot = []string{"no active checks"}
	for i, f := range faults {
		r.Faults = append(r.Faults, string(f))
		for k, b := range behaviours() {
			for round := 1; round <= rounds; round++ {
				rnd := rand.New(rand.NewPCG(uint64(i*100+k*10), uint64(round)))
				r.Runs = append(r.Runs, b.run(f, round, rnd))
			}
		}
	}
	return r
}

// run makes up what was observed and computes the rest as for a real one.
func (b behaviour) run(f fault.Fault, round int, rnd *rand.Rand) Run {
	const length, backends = 10 * time.Second, 3
	o := observed{backends: backends, length: length}
	for _, a := range plan(f, backends, length) {
		step := a.fault
		switch {
		case !a.mend:
			o.outages = append(o.outages, Outage{Backend: a.backend, From: a.at, Ends: step.Ends(), Silences: step.Silences()})
		default:
			for i := range o.outages {
				if o.outages[i].Backend == a.backend && o.outages[i].To == 0 {
					o.outages[i].To = a.at
				}
			}
		}
	}
	next := 0
	for due := time.Duration(0); due < length; due += 2 * time.Millisecond {
		o.any = append(o.any, b.visit(o, due, &next, rnd))
		if due%(20*time.Millisecond) == 0 {
			o.hashed = append(o.hashed, load.Visit{Due: due, Took: time.Millisecond, Source: int(due/time.Millisecond) % 60, Backend: int(due/time.Millisecond) % 60 % 3})
		}
	}
	for i := range 30 {
		o.talks = append(o.talks, b.talk(o, i)...)
	}
	run := Run{Balancer: b.name, Fault: string(f), Round: round, Length: length}
	o.fill(&run)
	return run
}

// broken tells whether a backend is, at an instant, and whether the balancer has noticed;
// a backend that came back and is not used again is taken for one.
func (b behaviour) broken(o observed, backend int, at time.Duration) (is, noticed bool) {
	for _, out := range o.outages {
		if out.Backend == backend && out.From <= at && at < out.To+b.recover {
			return at < out.To, at >= out.From+b.detect
		}
	}
	return false, false
}

func (b behaviour) visit(o observed, due time.Duration, next *int, rnd *rand.Rand) load.Visit {
	v := load.Visit{Due: due, Took: time.Duration(300+rnd.IntN(2000)) * time.Microsecond, Session: uint64(due), Backend: -1}
	for range o.backends {
		*next = (*next + 1) % o.backends
		is, noticed := b.broken(o, *next, due)
		if noticed {
			continue
		}
		v.Backend = *next
		if is {
			v.Took += b.delay
			if rnd.Float64() < b.fails {
				v.Failure, v.Backend = load.Timeout, -1
				if rnd.IntN(3) == 0 {
					v.Failure = load.Reset
				}
			} else {
				v.Backend = (*next + 1) % o.backends
			}
		}
		return v
	}
	v.Failure = load.Refused
	return v
}

// talk is one long session, and what follows it if it ends.
func (b behaviour) talk(o observed, i int) []load.Talk {
	t := load.Talk{Client: i, Session: uint64(i), Ended: o.length, Backend: i % o.backends, Sent: 100, Answered: 100}
	for _, out := range o.outages {
		if out.Backend != t.Backend {
			continue
		}
		if out.Ends {
			t.Ended, t.Failure = out.From, load.Reset
			return []load.Talk{t, {Client: i, Session: uint64(100 + i), Began: out.From, Ended: o.length, Backend: (i + 1) % o.backends, Sent: 50}}
		}
		if out.Silences && i < b.stuck {
			t.Waits = append(t.Waits, load.Span{From: out.From, To: min(out.To, out.From+time.Duration(i+1)*200*time.Millisecond+StuckAfter)})
		}
	}
	return []load.Talk{t}
}

// edited is a sample in which something of every run of a balancer is otherwise.
func edited(balancer string, change func(*Run)) *Result {
	r := sample(3, fault.Kill, fault.Stop)
	for i := range r.Runs {
		if r.Runs[i].Balancer == balancer {
			change(&r.Runs[i])
		}
	}
	return r
}

// failing is a writer that takes nothing.
type failing struct{}

var errFull = fmt.Errorf("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }
