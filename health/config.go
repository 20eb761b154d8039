package health

import (
	"errors"
	"fmt"
	"time"
)

// MaxEject is the longest single ejection, where doubling stops.
const MaxEject = time.Minute

// minInterval keeps a probe that ends at once from becoming a busy loop.
const minInterval = time.Millisecond

// ErrConfig is wrapped by every error about settings: a [Config], an [HTTP], an [Endpoint],
// or a text given to [ParseStatus].
var ErrConfig = errors.New("health: invalid setting")

// Config is how a [Monitor] judges its backends. No field has a default here: whoever
// reads the file or the flags fills it.
type Config struct {
	// Interval is the time between the starts of two probes, at least a millisecond.
	// A probe that takes longer delays the next one until it has ended.
	Interval time.Duration
	// Timeout is over one whole probe, above 0. It may be longer than Interval.
	Timeout time.Duration
	// Rise and Fall are how many results in a row bring a backend up or down, from 1.
	Rise, Fall int
	// Failures is how many failed dials in a row eject a backend. 0 turns passive
	// ejection off, that by sessions ended at once included.
	Failures int
	// Eject is the time of a first ejection, at most MaxEject; it doubles while the
	// backend keeps failing, up to MaxEject. 0 turns passive ejection off.
	Eject time.Duration
}

// validate returns an error that wraps ErrConfig and names the first bad field.
func (c Config) validate() error {
	switch {
	case c.Interval < minInterval:
		return fmt.Errorf("%w: interval %v, want at least %v", ErrConfig, c.Interval, minInterval)
	case c.Timeout <= 0:
		return fmt.Errorf("%w: timeout %v, want above 0", ErrConfig, c.Timeout)
	case c.Rise < 1:
		return fmt.Errorf("%w: rise %d, want at least 1", ErrConfig, c.Rise)
	case c.Fall < 1:
		return fmt.Errorf("%w: fall %d, want at least 1", ErrConfig, c.Fall)
	case c.Failures < 0:
		return fmt.Errorf("%w: failures %d, want 0 (off) or more", ErrConfig, c.Failures)
	case c.Eject < 0 || c.Eject > MaxEject:
		return fmt.Errorf("%w: eject %v, want 0 (off) to %v", ErrConfig, c.Eject, MaxEject)
	}
	return nil
}

// passive says whether evidence from dials and sessions may eject a backend.
func (c Config) passive() bool { return c.Failures > 0 && c.Eject > 0 }
