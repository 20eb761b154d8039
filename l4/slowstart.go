package l4

import (
	"math/bits"
	"time"
)

const (
	// slowSteps is in how many steps a weight climbs.
	slowSteps = 10
	// finestWeight is what the smallest weight is scaled to while another climbs, if the
	// greatest allows it.
	finestWeight = 16
	// greatestWeight is a picker's.
	greatestWeight = 256
)

// slowStart is a pool's climbing weights; guarded by the pool's mutex.
type slowStart struct {
	over  time.Duration // 0 = none climbs
	climb *time.Timer   // for the next step; nil unless one climbs
}

// rise has b climb, since it has come back into use.
func (p *Pool) rise(b *Backend) {
	if p.over <= 0 {
		return
	}
	b.risen = time.Now()
	p.awaitStep()
}

// awaitStep sees to the next step of those that climb.
func (p *Pool) awaitStep() {
	if p.climb == nil && !p.closed {
		p.climb = time.AfterFunc(p.over/slowSteps, p.step)
	}
}

// step makes the view of the weights as they have become.
func (p *Pool) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.climb = nil
	if p.closed {
		return
	}
	for _, b := range p.backends {
		if b.risen.IsZero() {
			continue
		}
		if time.Since(b.risen) >= p.over {
			b.risen = time.Time{}
		} else {
			p.awaitStep()
		}
	}
	p.publish()
}

// stopClimbing is for the pool's end.
func (p *Pool) stopClimbing() {
	if p.climb != nil {
		p.climb.Stop()
	}
}

// steps returns how many of slowSteps a backend's weight has climbed.
func (p *Pool) steps(b *Backend) int {
	if b.risen.IsZero() || p.over <= 0 {
		return slowSteps
	}
	return min(slowSteps, 1+int(time.Since(b.risen)*slowSteps/p.over))
}

// weigh sets what the view's backends weigh at present. A weight of 1 has no parts, so
// all are scaled while one climbs, and the points of a ring are scaled down by as much:
// a full weight has the same points then as ever.
func (p *Pool) weigh(v *view) {
	v.scale = 1
	climbing, most := false, 1
	for _, b := range p.backends {
		climbing = climbing || p.steps(b) < slowSteps
		most = max(most, b.cfg.Weight)
	}
	if climbing {
		v.scale = min(finestWeight, 1<<(bits.Len(uint(greatestWeight/most))-1))
		for v.points%v.scale != 0 {
			v.scale /= 2
		}
	}
	v.points /= v.scale
	for i := range v.tiers {
		t := &v.tiers[i]
		t.weights = make([]int, len(t.backends))
		for j, b := range t.backends {
			t.weights[j] = max(1, b.cfg.Weight*v.scale*p.steps(b)/slowSteps)
		}
	}
}
