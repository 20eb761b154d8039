package l4

import (
	"errors"
	"fmt"
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
	log     *slog.Logger

	// strict has no session begin on a backend that its probes call down, even if it
	// was chosen before.
	strict bool
	// These are called with the pool's mutex held, and must not wait. Nil is none.
	withdrawn  func(*Backend)   // a strict pool's backend may serve no session any more
	transition func(Transition) // see Config
	free       func()           // a backend may be to be had now
}

func newPool(c poolConfig, conflict Conflict, slow time.Duration) *Pool {
	p := &Pool{poolConfig: c, cursors: make(cursors)}
	p.conflict, p.over = conflict, slow
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
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.backends
	names := make(map[string]bool, len(before)+len(cfgs))
	for _, b := range before {
		names[b.cfg.Name] = true
	}
	for _, c := range cfgs {
		b, err := newBackend(c, names)
		if err != nil {
			p.backends = before
			return nil, err
		}
		p.backends = append(p.backends, b)
	}
	p.elect()
	p.bar(nil)
	if err := p.rebuild(); err != nil {
		p.backends = before
		return nil, fmt.Errorf("%w: %w", ErrBackend, err)
	}
	p.usable = p.countUsable()
	switch {
	case p.usable > 0:
		p.recovered()
	case len(p.backends) > 0:
		p.noUsable("no backend may get new sessions")
	}
	return slices.Clone(p.backends[len(before):]), nil
}

// newBackend makes a backend, and adds its name to names.
func newBackend(c BackendConfig, names map[string]bool) (*Backend, error) {
	if c.Name == "" {
		c.Name = c.Address
	}
	switch {
	case c.Address == "":
		return nil, fmt.Errorf("%w: %q has no address", ErrBackend, c.Name)
	case c.Weight < 0 || c.Weight > 256:
		return nil, fmt.Errorf("%w: %q: weight %d is not within 0..256", ErrBackend, c.Name, c.Weight)
	case c.Priority < 0 || c.MaxConnections < 0:
		return nil, fmt.Errorf("%w: %q: priority and connection limit cannot be negative", ErrBackend, c.Name)
	case names[c.Name]:
		return nil, fmt.Errorf("%w: two are named %q", ErrBackend, c.Name)
	}
	names[c.Name] = true
	b := &Backend{cfg: c, probed: note{"not probed yet", time.Now()}}
	b.network, b.address = splitAddress(c.Address)
	b.direct = relay.NewAddress(b.network, b.address)
	return b, nil
}

// SetHealth records the verdict of b's probes.
func (p *Pool) SetHealth(b *Backend, h Health, c Cause) {
	p.change(b, c, func() (*note, bool) {
		changed := b.health != h
		b.health = h
		if changed && h == Down {
			b.falls.Add(1)
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

// choose picks and reserves a backend; see view.choose.
func (p *Pool) choose(key uint64, tried []*Backend) (b *Backend, why relay.Why) {
	if b, why = p.view.Load().choose(key, tried); b == nil {
		b = p.chooseNew(tried)
	}
	return b, why
}

// chooseNew reserves a backend that the view does not show yet, if it is behind.
func (p *Pool) chooseNew(tried []*Backend) *Backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy {
		return nil
	}
	for _, t := range p.draft().tiers {
		for _, b := range t.backends {
			if !slices.Contains(tried, b) && b.take() {
				return b
			}
		}
	}
	return nil
}
