package l4

import (
	"time"

	"github.com/sluicelb/sluice/picker"
)

// A view is made anew by every change of a backend's state. With thousands of backends,
// or large tables, that takes milliseconds, and changes come in thousands too: at the
// start, or when a rack goes down. So building is on a budget: while it has taken more
// than its share of the time, changes wait for one build of them all. What they miss
// until then a session makes up for by trying another backend.
const (
	buildShare = 5                      // a fifth of the time at most, in the long run
	buildDebt  = 250 * time.Millisecond // and this much at once
	leastWait  = time.Millisecond
)

// publisher is a pool's budget for building views; guarded by the pool's mutex.
type publisher struct {
	debt   time.Duration // building time not yet made up for, as of last
	last   time.Time
	cost   time.Duration // of the last build
	timer  *time.Timer   // of the build that waits
	closed bool
}

// publish makes the view of the present states: at once, or with others later.
func (p *Pool) publish() {
	now := time.Now()
	p.debt = max(0, p.debt-now.Sub(p.last)/buildShare)
	p.last = now
	switch {
	case p.closed || p.timer != nil:
	case p.debt < buildDebt:
		p.build()
	default:
		p.timer = time.AfterFunc(max(p.cost*buildShare, leastWait), p.publishLater)
	}
}

func (p *Pool) publishLater() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	p.publish()
}

// build makes the view and takes its time from the budget.
func (p *Pool) build() {
	if err := p.rebuild(); err != nil {
		// The same set was accepted when it was added.
		p.log.Error("view not rebuilt", "service", p.service, "error", err)
	}
	p.cost = time.Since(p.last)
	p.debt += p.cost
}

// close ends the building of views: nobody asks any more.
func (p *Pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// rebuild makes and publishes the view of the present states.
func (p *Pool) rebuild() error {
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
	// The ring's points are those of all backends, so that none going down moves any.
	opt := picker.Options{RingPoints: picker.RingPoints(weights)}
	tiers := tiersOf(eligible)
	for i := range tiers {
		t := &tiers[i]
		opt.Cursor = p.cursors.of(t.priority)
		var err error
		if t.picker, err = picker.New(p.balance, t.candidates(), opt); err != nil {
			return err
		}
	}
	p.view.Store(&view{tiers: tiers, total: len(p.backends)})
	return nil
}
