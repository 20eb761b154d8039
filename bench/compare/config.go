package compare

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
)

// ErrConfig means that a Config cannot be run.
var ErrConfig = errors.New("compare: bad settings")

// Config says what to compare.
type Config struct {
	// Balancers were found with Spec.Find, at least one, with names of their own.
	Balancers []balancer.Spec
	// Worker is a command line that runs stream.Serve on an address that is added to it.
	Worker []string
	// Duration bounds the whole; zero = one minute. It is divided among rounds,
	// workloads and balancers.
	Duration time.Duration
	// Rounds is how often each is measured; zero = as many as leave a third of a second
	// for each measurement, at most 5.
	Rounds int
	// Workloads to measure; none = all.
	Workloads []Workload
	// Sessions is the number of idle ones; zero = 3000. Fewer are used, with a note in
	// the result, if descriptors do not suffice.
	Sessions int
	// Rate is that of the latency workload in requests a second; zero = half of what the
	// slowest balancer reaches with 50 clients, which is then measured too.
	Rate float64
	// Progress, if not nil, is told of each step as it begins.
	Progress func(Step)
}

// Step tells where a run is.
type Step struct {
	// Number counts steps from 1 to Total.
	Number, Total int
	// Round counts rounds from 1 to Rounds.
	Round, Rounds int
	// What is being done, and to whom; Target may be empty.
	What, Target string
	// Elapsed of Duration has gone by.
	Elapsed, Duration time.Duration
}

const (
	defaultDuration = time.Minute
	defaultSessions = 3000
	maxSessions     = 9000 // of one listening address's 28,000 ports, twice
	maxRounds       = 100
)

func (c Config) withDefaults() (Config, error) {
	if c.Duration == 0 {
		c.Duration = defaultDuration
	}
	if c.Sessions == 0 {
		c.Sessions = defaultSessions
	}
	if len(c.Workloads) == 0 {
		c.Workloads = Workloads()
	}
	switch {
	case len(c.Balancers) == 0:
		return c, fmt.Errorf("%w: no balancer", ErrConfig)
	case len(c.Worker) == 0:
		return c, fmt.Errorf("%w: no stream server", ErrConfig)
	case c.Duration < 0:
		return c, fmt.Errorf("%w: duration %v: it must be more than 0", ErrConfig, c.Duration)
	case c.Rounds < 0 || c.Rounds > maxRounds:
		return c, fmt.Errorf("%w: %d rounds: 1 to %d are possible, 0 = as the time allows", ErrConfig, c.Rounds, maxRounds)
	case c.Sessions < 0 || c.Sessions > maxSessions:
		return c, fmt.Errorf("%w: %d sessions: 1 to %d are possible", ErrConfig, c.Sessions, maxSessions)
	case c.Rate < 0 || c.Rate > 1e6:
		return c, fmt.Errorf("%w: rate %g: up to 1,000,000 a second are possible, 0 = half of the slowest peak", ErrConfig, c.Rate)
	}
	names := map[string]bool{Direct: true}
	for _, b := range c.Balancers {
		if names[b.Name] {
			return c, fmt.Errorf("%w: two balancers are called %s: write KIND:NAME=PATH", ErrConfig, b.Name)
		}
		names[b.Name] = true
	}
	return c, nil
}
