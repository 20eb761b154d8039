package failover

import (
	"time"

	"github.com/sluicelb/sluice/bench/fault"
)

// action breaks or mends one backend.
type action struct {
	at      time.Duration // since the load began
	backend int
	fault   fault.Fault // a simple one, which a Fleet knows
	mend    bool
}

// Parts of a run: what precedes the fault shows what is usual, what follows its end
// shows the return.
const (
	breakAt    = 0.25
	mendAt     = 0.60
	allMendAt  = 0.40 // nobody can be served meanwhile
	flapEvery  = 500 * time.Millisecond
	rollingEnd = 0.75
)

// plan is what happens in a run of the given length, in order.
func plan(f fault.Fault, backends int, length time.Duration) []action {
	share := func(s float64) time.Duration { return time.Duration(float64(length) * s) }
	switch f {
	case fault.Flap:
		return flapping(share(breakAt), share(mendAt))
	case fault.AllDown:
		return allDown(backends, share(breakAt), share(allMendAt))
	case fault.Rolling:
		return rolling(backends, share(breakAt), share(rollingEnd))
	}
	return []action{{share(breakAt), 0, f, false}, {share(mendAt), 0, f, true}}
}

// flapping kills one backend and starts it again, over and over.
func flapping(from, to time.Duration) (all []action) {
	for at := from; at+flapEvery <= to; at += 2 * flapEvery {
		all = append(all, action{at, 0, fault.Kill, false}, action{at + flapEvery, 0, fault.Kill, true})
	}
	return all
}

// allDown kills all, and starts all.
func allDown(backends int, from, to time.Duration) (all []action) {
	for i := range backends {
		all = append(all, action{from, i, fault.Kill, false})
	}
	for i := range backends {
		all = append(all, action{to, i, fault.Kill, true})
	}
	return all
}

// rolling ends one after the other in order and starts it again, as a deployment
// without any regard for the balancer does; the next one follows as long after.
func rolling(backends int, from, to time.Duration) (all []action) {
	each := (to - from) / time.Duration(backends)
	for i := range backends {
		at := from + each*time.Duration(i)
		all = append(all, action{at, i, fault.Exit, false}, action{at + each/2, i, fault.Exit, true})
	}
	return all
}
