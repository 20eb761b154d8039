package demo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// ErrOptions is an option that makes no sense.
var ErrOptions = errors.New("demo: invalid option")

// ErrFailed is a run with Options.Chaos in which a request failed.
var ErrFailed = errors.New("demo: requests failed")

const (
	gentleRate = 5
	chaosRate  = 80
	maxRate    = 500 // more would run out of loopback ports within minutes (TIME_WAIT)

	usualEvery = 4 * time.Second
	// minEvery leaves a revived backend half of it to pass its two checks before the
	// next one is killed.
	minEvery = 2 * time.Second

	usualPort = 8080
	maxSeed   = 9999 // of those drawn: short enough to be typed
)

// Options of a Run. The zero value is a gentle demo until its context ends.
type Options struct {
	Rate     int           // requests a second of the built-in client; 0 = 5, with Chaos 80; at most 500
	Chaos    bool          // kill and revive a backend again and again; a request that fails is an error then
	Every    time.Duration // with Chaos: from one kill to the next; 0 = 4s; at least 2s
	Seed     uint64        // with Chaos: decides which backends are killed; 0 = any
	Duration time.Duration // end by itself after this time; 0 = never
	Port     int           // preferred for the balancer, those of the rest follow it; 0 = 8080
	Live     bool          // redraw the display in place, instead of a line now and then; see Terminal
	Color    bool
}

// withDefaults returns a validated copy. Errors wrap ErrOptions.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Rate < 0 || o.Rate > maxRate:
		return o, fmt.Errorf("%w: rate %d: want 1 to %d a second", ErrOptions, o.Rate, maxRate)
	case o.Duration < 0:
		return o, fmt.Errorf("%w: duration %v is negative", ErrOptions, o.Duration)
	case o.Port < 0 || o.Port > 65535-controlOffset:
		return o, fmt.Errorf("%w: port %d: want 1 to %d", ErrOptions, o.Port, 65535-controlOffset)
	case !o.Chaos && (o.Every != 0 || o.Seed != 0):
		return o, fmt.Errorf("%w: every and seed mean nothing without chaos", ErrOptions)
	case o.Every != 0 && o.Every < minEvery:
		return o, fmt.Errorf("%w: every %v: want at least %v", ErrOptions, o.Every, minEvery)
	}
	if o.Rate == 0 {
		o.Rate = gentleRate
		if o.Chaos {
			o.Rate = chaosRate
		}
	}
	if o.Every == 0 {
		o.Every = usualEvery
	}
	if o.Seed == 0 {
		o.Seed = 1 + rand.Uint64N(maxSeed)
	}
	if o.Port == 0 {
		o.Port = usualPort
	}
	return o, nil
}
