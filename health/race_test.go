package health

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// strictGate fails the test if two calls of it overlap.
type strictGate struct {
	t       *testing.T
	inside  atomic.Int32
	ejected bool // guarded by the member's lock, so the race detector checks the promise
	ejects  int
}

func (g *strictGate) enter() func() {
	if g.inside.Add(1) != 1 {
		g.t.Error("two calls of one gate at the same time")
	}
	return func() { g.inside.Add(-1) }
}

func (g *strictGate) SetHealth(State, Cause) { defer g.enter()() }

func (g *strictGate) Eject(Cause) bool {
	defer g.enter()()
	g.ejected = true
	g.ejects++
	return true
}

func (g *strictGate) Restore(Cause) bool {
	defer g.enter()()
	was := g.ejected
	g.ejected = false
	return was
}

func TestTwoHundredDialsFailingAtOnceEjectOnce(t *testing.T) {
	g := &strictGate{t: t}
	b := newMonitor(t, config()).Add(nil, g)
	var dials sync.WaitGroup
	for range 200 {
		dials.Go(func() { b.DialFailed(time.Now(), refused) })
	}
	dials.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.passive; g.ejects != 200 || p.dials != 200 || !p.active || p.length != 5*time.Second {
		t.Errorf("asked %d times, %d counted, active %v for %v", g.ejects, p.dials, p.active, p.length)
	}
}

func TestEverythingAtOnceWithStopAndClose(t *testing.T) {
	cfg := config()
	cfg.Interval, cfg.Timeout, cfg.Eject = time.Millisecond, time.Millisecond, time.Millisecond
	cfg.Rise, cfg.Fall, cfg.Failures = 1, 1, 2
	m := newMonitor(t, cfg)
	var work sync.WaitGroup
	for i := range 20 {
		var n atomic.Int32
		b := m.Add(proberFunc(func(ctx context.Context) error {
			switch n.Add(1) % 3 {
			case 0:
				return errRefused
			case 1:
				<-ctx.Done()
			}
			return ctx.Err()
		}), &strictGate{t: t})
		for range 4 {
			work.Go(func() {
				for range 200 {
					b.DialFailed(time.Now(), refused)
					b.EndedAtOnce()
					b.DialOK(time.Now())
					b.Answered()
				}
				if i%2 == 0 {
					b.Stop()
				}
			})
		}
		work.Go(func() { <-m.Settled() })
	}
	work.Go(m.Close)
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	within(t, "members that are stopped while in use", done)
}
