package compare

import (
	"fmt"
	"slices"
	"time"
)

// Bounds of a measurement's length.
const (
	leastSlice = 100 * time.Millisecond // below it, noise is all there is
	goodSlice  = 350 * time.Millisecond
	mostSlice  = 30 * time.Second
	autoRounds = 5
)

// Guesses, until measurements have told better.
const (
	startTakes    = time.Second // all programs
	stopTakes     = 300 * time.Millisecond
	spare         = 20                    // one part in so many is kept for what takes longer than before
	stepTakes     = 40 * time.Millisecond // connecting and ending, beside the slice
	idleTakes     = 800 * time.Millisecond
	idleTakesEach = 400 * time.Microsecond // a session
)

// plan divides the time of a run. Measurements of idle sessions take what they take;
// all others take a slice, which is found anew before each workload from the time that
// is left. Slices of the targets of a workload differ only if time runs short meanwhile.
type plan struct {
	rounds int
	timed  int // measurements of a slice each in a round
	idle   int // measurements of idle sessions in a round

	stepExtra, idleTime mean // what a measurement takes beside its slice; what an idle one takes
}

// newPlan plans a run of c with the given number of idle sessions. An error wraps
// ErrConfig: there is too little time.
func newPlan(c Config, workloads []Workload, sessions int) (plan, error) {
	p := plan{}
	p.stepExtra.add(stepTakes)
	p.idleTime.add(idleTakes + time.Duration(sessions)*idleTakesEach)
	p.timed = len(workloads) * (len(c.Balancers) + 1) // and direct
	if slices.Contains(workloads, Idle) {
		p.timed -= len(c.Balancers) + 1
		p.idle = len(c.Balancers)
	}
	p.rounds = c.Rounds
	if p.rounds == 0 {
		p.rounds = p.autoRounds(c.Duration)
	}
	if least := p.takes(p.rounds, leastSlice); c.Duration < least {
		return p, fmt.Errorf("%w: %v is too short for %d × %d measurements: give at least %v, fewer rounds or fewer workloads",
			ErrConfig, c.Duration, p.rounds, p.timed+p.idle, least.Truncate(time.Second)+time.Second)
	}
	return p, nil
}

// autoRounds is the most rounds that leave a good slice, but at least one.
func (p *plan) autoRounds(total time.Duration) int {
	rounds := autoRounds
	for rounds > 1 && p.takes(rounds, goodSlice) > total {
		rounds--
	}
	return rounds
}

// takes is how long that many rounds take, with all that is around them.
func (p *plan) takes(rounds int, slice time.Duration) time.Duration {
	round := time.Duration(p.timed)*(slice+p.stepExtra.value()) + time.Duration(p.idle)*p.idleTime.value()
	all := stopTakes + time.Duration(rounds)*round
	return startTakes + all + all/spare
}

// slice is how long a timed measurement may take if remaining is left for so many timed
// and idle ones.
func (p *plan) slice(remaining time.Duration, timed, idle int) time.Duration {
	if timed == 0 {
		return 0
	}
	remaining -= remaining/spare + stopTakes + time.Duration(idle)*p.idleTime.value()
	return min(max(remaining/time.Duration(timed)-p.stepExtra.value(), leastSlice/2), mostSlice)
}

// mean is the mean of the durations it was told.
type mean struct {
	sum time.Duration
	n   int
}

func (m *mean) add(d time.Duration) {
	m.sum += d
	m.n++
}

func (m *mean) value() time.Duration { return m.sum / time.Duration(max(m.n, 1)) }
