package compare

import (
	"fmt"
	"slices"
	"time"
)

// Bounds of a measurement's length.
const (
	leastSlice = 100 * time.Millisecond // below it, noise is all there is
	goodSlice  = 500 * time.Millisecond
	mostSlice  = 30 * time.Second
	autoRounds = 5
)

// Guesses for the first round; later ones go by what the rounds before took.
const (
	startTakes    = time.Second // all programs
	stopTakes     = 300 * time.Millisecond
	stepTakes     = 40 * time.Millisecond // connecting and ending, beside the slice
	idleTakes     = 700 * time.Millisecond
	idleTakesEach = 250 * time.Microsecond // a session
)

// plan divides the time of a run.
type plan struct {
	rounds int
	timed  int // measurements of a slice each in a round
	idle   int // measurements of idle sessions in a round

	stepExtra time.Duration // what a timed measurement takes beside its slice
	idleTime  time.Duration // what an idle one takes
}

// newPlan plans a run of c with the given number of idle sessions. An error wraps
// ErrConfig: there is too little time.
func newPlan(c Config, workloads []Workload, sessions int) (plan, error) {
	p := plan{stepExtra: stepTakes, idleTime: idleTakes + time.Duration(sessions)*idleTakesEach}
	p.timed = len(workloads) * (len(c.Balancers) + 1) // and direct
	if slices.Contains(workloads, Idle) {
		p.timed -= len(c.Balancers) + 1
		p.idle = len(c.Balancers)
	}
	p.rounds = c.Rounds
	if p.rounds == 0 {
		p.rounds = p.autoRounds(c.Duration)
	}
	if p.slice(c.Duration-startTakes, p.rounds) < leastSlice {
		return p, fmt.Errorf("%w: %v is too short for %d rounds of %d measurements: give at least %v, fewer rounds or fewer workloads",
			ErrConfig, c.Duration, p.rounds, p.timed+p.idle, p.least())
	}
	return p, nil
}

// autoRounds is the most rounds that leave a good slice, but at least one.
func (p plan) autoRounds(total time.Duration) int {
	if p.timed == 0 {
		return 3
	}
	rounds := autoRounds
	for rounds > 1 && p.slice(total-startTakes, rounds) < goodSlice {
		rounds--
	}
	return rounds
}

// slice is how long a timed measurement may take if remaining is left for rounds.
func (p plan) slice(remaining time.Duration, rounds int) time.Duration {
	remaining -= stopTakes
	free := remaining/time.Duration(rounds) - p.overhead()
	if p.timed == 0 {
		return max(min(free, leastSlice), 0) // it is enough if there is any
	}
	return min(free/time.Duration(p.timed), mostSlice)
}

// overhead is what a round takes beside its slices.
func (p plan) overhead() time.Duration {
	return time.Duration(p.timed)*p.stepExtra + time.Duration(p.idle)*p.idleTime
}

// least is the shortest duration for the rounds, in whole seconds.
func (p plan) least() time.Duration {
	round := p.overhead() + time.Duration(max(p.timed, 1))*leastSlice
	total := startTakes + stopTakes + time.Duration(p.rounds)*round
	return total.Truncate(time.Second) + time.Second
}

// steps is the number of measurements of a run.
func (p plan) steps() int { return p.rounds * (p.timed + p.idle) }

// learn corrects the guesses by what a round took: all of its idle measurements, and
// all of its timed ones with their slices.
func (p *plan) learn(idle, timed, slice time.Duration) {
	if p.idle > 0 {
		p.idleTime = idle / time.Duration(p.idle)
	}
	if p.timed > 0 {
		p.stepExtra = max(timed/time.Duration(p.timed)-slice, 0)
	}
}
