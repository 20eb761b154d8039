package l4

import (
	"sync"
	"time"

	"github.com/sluicelb/sluice/picker"
)

// A view is made anew by every change of a backend's state. With few backends that is
// done at once. With thousands, or large tables, it takes milliseconds, and changes come
// in thousands too, at the start or when a rack goes down; and they come from the path
// of sessions. So there a goroutine makes the views, for all changes until then, and
// rests in between. What a view lacks meanwhile a session makes up for by trying another
// backend, and by asking for the present states before it gives up.
const (
	fewBackends = 16                     // a view of so many is made at once
	restShare   = 4                      // how many times the time of a build is rested after it
	longestRest = 250 * time.Millisecond // the time is not all ours on a busy machine
)

// publisher makes a pool's views; guarded by the pool's mutex.
type publisher struct {
	version  int64 // of the newest view that was begun
	stale    bool  // there are changes since
	busy     bool  // build runs
	atOnce   bool  // the next view is to be there when publish returns, unless build runs
	building sync.WaitGroup
	closed   bool
	closing  chan struct{}
}

// publish makes the view of the present states: at once, or with others soon.
func (p *Pool) publish() {
	switch {
	case p.closed:
	case p.busy:
		p.stale = true
	case p.atOnce, len(p.backends) <= fewBackends, p.conflict != "": // two views at a time could be two writers
		p.report(p.rebuild())
	default:
		p.stale, p.busy = true, true
		p.building.Go(p.build)
	}
}

// build makes views until the newest is up to date.
func (p *Pool) build() {
	for {
		p.mu.Lock()
		if p.busy = p.stale && !p.closed; !p.busy {
			p.mu.Unlock()
			return
		}
		p.stale = false
		v := p.draft()
		p.mu.Unlock()

		began := time.Now()
		err := v.complete(p.balance)
		cost := time.Since(began)
		p.mu.Lock()
		p.report(err)
		p.show(v)
		p.mu.Unlock()
		select {
		case <-time.After(min(restShare*cost, longestRest)):
		case <-p.closing:
		}
	}
}

// close ends the making of views: nobody asks any more.
func (p *Pool) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		p.stopClimbing()
		close(p.closing)
	}
	p.mu.Unlock()
	p.building.Wait()
}

// rebuild makes and shows the view of the present states. With mu held.
func (p *Pool) rebuild() error {
	v := p.draft()
	if err := v.complete(p.balance); err != nil {
		return err
	}
	p.show(v)
	return nil
}

// report says that a view could not be made: the same set was accepted when it was
// added.
func (p *Pool) report(err error) {
	if err != nil {
		p.log.Error("view not rebuilt", "service", p.service, "error", err)
	}
}

// draft returns the view of the present states, without its pickers. With mu held.
func (p *Pool) draft() *view {
	weights := make([]int, 0, len(p.backends))
	var eligible []*Backend
	for _, b := range p.backends {
		if b.cfg.Weight > 0 {
			weights = append(weights, b.cfg.Weight)
		}
		if b.eligible() {
			eligible = append(eligible, b)
		}
	}
	p.version++
	v := &view{version: p.version, tiers: tiersOf(eligible), total: len(p.backends)}
	// The ring's points are those of all backends, so that none going down moves any.
	v.points = picker.RingPoints(weights)
	p.weigh(v)
	for i := range v.tiers {
		v.tiers[i].cursor = p.cursors.of(v.tiers[i].priority)
	}
	return v
}

// show makes a complete view the one that sessions see, unless a newer one is. With mu
// held.
func (p *Pool) show(v *view) {
	if v.done && v.version > p.view.Load().version {
		p.view.Store(v)
		p.wake()
	}
}
