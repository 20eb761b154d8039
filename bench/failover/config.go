package failover

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/fault"
)

// ErrConfig means that a Config cannot be run.
var ErrConfig = errors.New("failover: bad settings")

// Config says what to measure. The zero value of each number is its default.
type Config struct {
	// Balancers were found with Spec.Find, at least one, with names of their own.
	Balancers []balancer.Spec
	// Faults to measure, each once; none = all.
	Faults []fault.Fault
	// Worker is a command line that runs fault.Serve on the id and address that are added.
	Worker []string
	// Rounds is how often each balancer goes through each fault; zero = 3.
	Rounds int
	// Duration is that of the load of one run; zero = 10 s.
	Duration time.Duration
	// Backends is their number; zero = 3.
	Backends int
	// Rate is of new clients a second; zero = 500.
	Rate float64
	// Talks is the number of long sessions, Hashed that of clients with an address of
	// their own, each of which comes twice a second; zero = 30 and 60, less = none.
	Talks, Hashed int
	// Patience is how long a client waits from the instant at which it was due; zero = 3 s.
	Patience time.Duration
	// Failover is how balancers watch backends; the zero value = balancer.Default. Send and
	// Expect are filled in.
	Failover balancer.Failover
	// Progress, if not nil, is told of each run as it begins.
	Progress func(Step)
}

// Step tells where the whole is.
type Step struct {
	// Number counts runs from 1 to Total.
	Number, Total int
	// Round counts from 1 to Rounds.
	Round, Rounds   int
	Balancer, Fault string
	// Elapsed has gone by of what was expected of the whole.
	Elapsed, Expected time.Duration
}

// Bounds. The least duration leaves each part of a run a second.
const (
	leastDuration = 4 * time.Second
	mostDuration  = 10 * time.Minute
	mostRate      = 5000
	mostClients   = 1000 // long sessions, and hashed clients
	mostBackends  = 16
	mostRounds    = 20
	hashedEvery   = 500 * time.Millisecond
)

func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Rounds, 3)
	setDefault(&c.Duration, 10*time.Second)
	setDefault(&c.Backends, 3)
	setDefault(&c.Rate, 500)
	setDefault(&c.Talks, 30)
	setDefault(&c.Hashed, 60)
	setDefault(&c.Patience, 3*time.Second)
	setDefault(&c.Failover, balancer.Default())
	if len(c.Faults) == 0 {
		c.Faults = fault.Faults()
	}
	c.Talks, c.Hashed = max(c.Talks, 0), max(c.Hashed, 0)
	if err := c.checkNumbers(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := c.checkNames(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c, nil
}

// setDefault gives the zero value a meaning.
func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (c Config) checkNumbers() error {
	switch {
	case c.Rounds < 1 || c.Rounds > mostRounds:
		return fmt.Errorf("%d rounds: 1 to %d are possible", c.Rounds, mostRounds)
	case c.Duration < leastDuration || c.Duration > mostDuration:
		return fmt.Errorf("duration %v: %v to %v a run are possible", c.Duration, leastDuration, mostDuration)
	case c.Backends < 2 || c.Backends > mostBackends:
		return fmt.Errorf("%d backends: 2 to %d are possible", c.Backends, mostBackends)
	case !(c.Rate >= 1 && c.Rate <= mostRate): // also what is no number
		return fmt.Errorf("rate %g: 1 to %d new clients a second are possible", c.Rate, mostRate)
	case c.Talks > mostClients || c.Hashed > mostClients:
		return fmt.Errorf("%d long sessions and %d hashed clients: at most %d each are possible", c.Talks, c.Hashed, mostClients)
	case c.Patience < 100*time.Millisecond || c.Patience > time.Minute:
		return fmt.Errorf("patience %v: 100ms to 1m are possible", c.Patience)
	}
	return nil
}

func (c Config) checkNames() error {
	if len(c.Balancers) == 0 {
		return errors.New("no balancer")
	}
	if len(c.Worker) == 0 {
		return errors.New("no command that runs a backend")
	}
	seen := make(map[string]bool)
	for _, b := range c.Balancers {
		if seen[b.Name] {
			return fmt.Errorf("two balancers are called %s: write KIND:NAME=PATH", b.Name)
		}
		seen[b.Name] = true
	}
	for i, f := range c.Faults {
		if !slices.Contains(fault.Faults(), f) {
			return fmt.Errorf("no fault %q; known are %v", f, fault.Faults())
		}
		if slices.Contains(c.Faults[:i], f) {
			return fmt.Errorf("fault %s is named twice", f)
		}
	}
	return nil
}
