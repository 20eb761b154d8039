package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Member is one watched backend of a [Monitor].
// Its methods may be called from any goroutine, but not from its own gate or prober.
type Member struct {
	mon    *Monitor
	prober Prober // nil: no active check
	gate   Gate
	cancel context.CancelFunc
	done   chan struct{} // closed when run has returned

	// settled and rounds belong to mon.mu.
	settled bool
	rounds  []*round

	// dialWatch and endWatch say whether DialOK and Answered have something to reset.
	// They are derived from what mu guards, see unlock.
	dialWatch, endWatch atomic.Bool

	mu      sync.Mutex
	stopped bool
	streak  streak
	blame   blame
	passive passive
}

// run is the member's goroutine. It probes inline, so that a second probe cannot start
// before the first has returned.
func (m *Member) run(ctx context.Context) {
	defer close(m.done)
	if c, ok := m.prober.(io.Closer); ok {
		defer c.Close() // nobody is left to whom an error would matter
	}
	interval := m.mon.cfg.Interval
	timer := time.NewTimer(interval) // set anew before each wait
	defer timer.Stop()

	// The first probe is due at once, for all members alike; the second after a random
	// part of the interval, which spreads them.
	gap := rand.N(interval)
	for first := true; ctx.Err() == nil; first = false {
		start := time.Now()
		m.probe(ctx, start)
		if first {
			m.mon.settle(m)
		} else {
			gap = jitter(interval)
		}
		wait := gap - time.Since(start)
		if interval >= beatFrom {
			wait = onBeat(wait, beat)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// jitter returns d, up to 10 % longer or shorter.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// probe makes one attempt and judges it.
func (m *Member) probe(ctx context.Context, start time.Time) {
	ctx, cancel := withTimeout(ctx, m.mon.cfg.Timeout)
	defer cancel()
	err := m.prober.Probe(ctx)
	m.judge(start, err)
}

// judge takes the result of the probe that began at start, and tells the gate what
// changed by it.
func (m *Member) judge(start time.Time, err error) {
	m.mu.Lock()
	defer m.unlock()
	if m.stopped || errors.Is(err, ErrNoVerdict) {
		return // a cancelled probe says nothing about the backend either
	}
	cfg, was := m.mon.cfg, m.streak.state
	var changed bool
	m.streak, changed = m.streak.next(err == nil, cfg.Rise, cfg.Fall)

	proven := m.passive.probed(start, err == nil, cfg.Rise)
	rose := changed && was == Down && m.streak.state == Up
	reasoned := false
	m.blame, reasoned = m.blame.next(m.streak.state, changed, err, cfg.Fall)
	if !changed && !proven && !reasoned {
		return // the common case words no cause
	}
	run := m.streak.run
	switch { // of these the verdict was made, not of older ones
	case reasoned:
		run = m.blame.run
	case !changed:
		run = m.passive.passes
	}
	cause := probeCause(start, err, was, run)
	if proven || rose {
		m.clear(cause) // before SetHealth, see Gate
	}
	if changed || reasoned {
		m.gate.SetHealth(m.streak.state, cause)
	}
}

// probeCause words the verdict that fell with the probe that began at start: run results
// in a row agreed, and the state before it was was.
func probeCause(start time.Time, err error, was State, run int) Cause {
	now := time.Now()
	var reason string
	switch {
	case err == nil && was == Unknown:
		reason = "first probe passed"
	case err == nil:
		reason = fmt.Sprintf("%d probes in a row passed", run)
	case was == Unknown:
		reason = clip(err.Error()) + " (first probe)"
	default:
		reason = fmt.Sprintf("%s (%d of %d failed)", clip(err.Error()), run, run)
	}
	return Cause{
		Source: SourceProbe, Reason: reason, At: now, Took: now.Sub(start), Streak: run,
		Evidence: evidenceOf(err), Unsure: unsure(err),
	}
}

// Stop ends the watch of a backend that is removed: it cancels a probe in flight and waits
// for it, and its gate is not called any more. Calling it again is allowed, and waits too.
// It must not be called with a lock held that the gate takes.
func (m *Member) Stop() {
	m.halt()
	<-m.done
	m.mon.forget(m)
}

// halt ends everything without waiting. An ejection that runs stays as it is: whoever
// removes a backend removes its gate.
func (m *Member) halt() {
	m.mu.Lock()
	m.stopped = true
	if m.passive.timer != nil {
		m.passive.timer.Stop()
	}
	m.unlock()
	m.cancel()
}

// unlock publishes what the hot path needs to know, then unlocks. Every section under mu
// ends with it, so the flags cannot fall behind.
func (m *Member) unlock() {
	m.dialWatch.Store(!m.stopped && m.passive.dialMatters())
	m.endWatch.Store(!m.stopped && m.passive.early > 0)
	m.mu.Unlock()
}
