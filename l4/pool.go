package l4

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// ErrBackend is a backend that cannot be added.
var ErrBackend = errors.New("l4: invalid backend")

// Pool is a service's backends and their states.
type Pool struct {
	poolConfig
	view atomic.Pointer[view]

	mu       sync.Mutex // guards the rest, and the states of the backends
	backends []*Backend // in the order added
	leaving  []*Backend // that were removed, with sessions then
	usable   int        // how many of them are
	cursors  cursors
	writers
	slowStart
	publisher

	outage      atomic.Int64 // Unix nanoseconds since which no backend is usable, as was said; 0 = one is
	refused     atomic.Int64 // clients since then
	lastRefused atomic.Int64 // Unix nanoseconds of the newest
}

// poolConfig is what a pool is made with.
type poolConfig struct {
	service string
	balance string
	rules
	log *slog.Logger

	// These are called with the pool's mutex held, and must not wait. Nil is none.
	withdrawn  func(*Backend)   // a strict pool's backend may serve no session any more
	transition func(Transition) // see Config
	outages    func(Outage)     // see Config
	free       func()           // a backend may be to be had now
}

func newPool(c poolConfig, slow time.Duration) *Pool {
	p := &Pool{poolConfig: c, cursors: make(cursors)}
	p.over = slow
	p.closing = make(chan struct{})
	p.view.Store(&view{})
	return p
}

// wake tells that a backend may be to be had now. With mu held.
func (p *Pool) wake() {
	if p.free != nil {
		p.free()
	}
}

// Add adds backends, unknown in health, all or none. Errors wrap ErrBackend.
func (p *Pool) Add(cfgs ...BackendConfig) ([]*Backend, error) {
	return p.Edit(Edit{Add: cfgs}, Cause{})
}

func newBackend(c BackendConfig) *Backend {
	b := &Backend{cfg: c, probed: note{"not probed yet", time.Now()}}
	b.limit.Store(int64(c.MaxConnections))
	b.network, b.address = splitAddress(c.Address)
	b.direct = relay.NewAddress(b.network, b.address)
	return b
}

// SetHealth records the verdict of b's probes; or, for one that is down already, that the
// reason is another.
func (p *Pool) SetHealth(b *Backend, h Health, c Cause) {
	p.change(b, c, func() (*note, bool) {
		if b.admin == Maint || b.removed {
			return nil, false
		}
		changed := b.health != h
		if h == Down {
			still := !changed && (b.probed.reason != c.Reason || b.unsure != c.Unsure)
			b.unsure = c.Unsure
			if still {
				return &b.probed, true
			}
		}
		if changed && (h == Down || b.health == Down) {
			b.falls.Add(1)
		}
		if changed {
			b.health = h
		}
		return &b.probed, changed
	})
}

// Eject takes b out of use until Restore: only clients whom all usable backends have
// failed are still sent to it. It refuses, and returns false, if b is the last usable
// backend; for one ejected already it returns true.
func (p *Pool) Eject(b *Backend, c Cause) bool {
	return p.change(b, c, func() (*note, bool) {
		others := slices.ContainsFunc(p.backends, func(o *Backend) bool { return o != b && o.usable() })
		if b.removed {
			return nil, false
		}
		changed := !b.ejected && others
		b.ejected = b.ejected || others
		return &b.dialled, changed
	}).ejected
}

// Restore ends an ejection; false if there was none.
func (p *Pool) Restore(b *Backend, c Cause) bool {
	return p.change(b, c, func() (*note, bool) {
		changed := b.ejected
		b.ejected = false
		return &b.dialled, changed
	}).changed
}

func (p *Pool) countUsable() (n int) {
	for _, b := range p.backends {
		if b.usable() {
			n++
		}
	}
	return n
}

// choose picks and reserves a backend; see view.choose. Those of tried that are in excused
// as well may be had if they are not barred any more.
func (p *Pool) choose(key uint64, tried []*Backend, excused ...*Backend) (b *Backend, why relay.Why) {
	if b, why = p.view.Load().choose(key, tried); b == nil {
		return p.chooseNow(key, tried, excused)
	}
	return b, why
}

// chooseNow is choose for whom the view had nothing. What keeps sessions from a backend is
// in force before the view that has another one is there: with the mutex held it is, or
// build runs and the states tell.
func (p *Pool) chooseNow(key uint64, tried, excused []*Backend) (*Backend, relay.Why) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(excused) > 0 {
		tried = slices.DeleteFunc(slices.Clone(tried), func(b *Backend) bool { return slices.Contains(excused, b) && !b.barred.Load() })
	}
	b, why := p.view.Load().choose(key, tried)
	if b != nil || !p.busy {
		return b, why
	}
	for _, t := range p.draft().tiers {
		for _, b := range t.backends {
			if !slices.Contains(tried, b) && b.take() {
				return b, relay.Running
			}
		}
	}
	return nil, why
}
