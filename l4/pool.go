package l4

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// ErrBackend is a backend that cannot be added.
var ErrBackend = errors.New("l4: invalid backend")

// Cause tells who changed a backend's state, and why.
type Cause struct {
	Source string // probe, dial or admin
	Reason string
}

// Pool is a service's backends and their states.
type Pool struct {
	service string
	balance string
	log     *slog.Logger
	view    atomic.Pointer[view]

	mu       sync.Mutex // guards the rest, and the states of the backends
	backends []*Backend // in the order added
	cursors  cursors

	outage  atomic.Int64 // Unix nanoseconds since which no backend is usable, as was said; 0 = one is
	refused atomic.Int64 // clients since then
}

func newPool(service, balance string, log *slog.Logger) *Pool {
	p := &Pool{service: service, balance: balance, log: log, cursors: make(cursors)}
	p.view.Store(&view{})
	return p
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
	if err := p.rebuild(); err != nil {
		p.backends = before
		return nil, fmt.Errorf("%w: %w", ErrBackend, err)
	}
	switch {
	case p.view.Load().usable > 0:
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
	b := &Backend{cfg: c, since: time.Now(), reason: "not probed yet"}
	b.network, b.address = splitAddress(c.Address)
	return b, nil
}

// SetHealth records the verdict of b's probes.
func (p *Pool) SetHealth(b *Backend, h Health, c Cause) {
	p.change(b, c, func() bool {
		changed := b.health != h
		b.health = h
		return changed
	})
}

// Eject takes b out of use until Restore. It refuses, and returns false, if b is
// the last usable backend; for one ejected already it returns true.
func (p *Pool) Eject(b *Backend, c Cause) bool {
	return p.change(b, c, func() bool {
		others := slices.ContainsFunc(p.backends, func(o *Backend) bool { return o != b && o.usable() })
		changed := !b.ejected && others
		b.ejected = b.ejected || others
		return changed
	}).ejected
}

// Restore ends an ejection; false if there was none.
func (p *Pool) Restore(b *Backend, c Cause) bool {
	return p.change(b, c, func() bool {
		changed := b.ejected
		b.ejected = false
		return changed
	}).changed
}

// outcome is what a change came to.
type outcome struct{ changed, ejected bool }

// change is the pool's one writer path: it applies a change to b's state, keeps the
// rule of the last usable backend, makes the new view, and logs the transitions.
func (p *Pool) change(b *Backend, c Cause, apply func() bool) outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := b.status()
	if !apply() {
		return outcome{false, b.ejected}
	}
	b.reason, b.since = c.Reason, time.Now()
	before := p.view.Load().usable
	lifted := p.liftEjections()
	if err := p.rebuild(); err != nil {
		// The same set was accepted when it was added.
		p.log.Error("view not rebuilt", "service", p.service, "error", err)
	}
	p.transition(b, from, c)
	for _, l := range lifted {
		if l != b { // b's own transition has been logged with its cause
			l.reason, l.since = reasonLifted, b.since
			p.transition(l, statusEjected, Cause{c.Source, reasonLifted})
		}
	}
	p.sayOutage(before)
	return outcome{true, b.ejected}
}

const reasonLifted = "no other backend is usable: ejection lifted"

// liftEjections returns all ejected backends to use if nothing else is left.
func (p *Pool) liftEjections() (lifted []*Backend) {
	if slices.ContainsFunc(p.backends, (*Backend).usable) {
		return nil
	}
	for _, b := range p.backends {
		if b.ejected && b.eligible() {
			b.ejected = false
			lifted = append(lifted, b)
		}
	}
	return lifted
}

// rebuild makes and publishes the view of the present states.
func (p *Pool) rebuild() error {
	weights := make([]int, 0, len(p.backends))
	var usable []*Backend
	for _, b := range p.backends {
		if b.cfg.Weight > 0 {
			weights = append(weights, b.cfg.Weight)
		}
		if b.usable() {
			usable = append(usable, b)
		}
	}
	// The ring's points are those of all backends, so that none going down moves any.
	opt := picker.Options{RingPoints: picker.RingPoints(weights)}
	tiers := tiersOf(usable)
	for i := range tiers {
		t := &tiers[i]
		opt.Cursor = p.cursors.of(t.priority)
		var err error
		if t.picker, err = picker.New(p.balance, t.candidates(), opt); err != nil {
			return err
		}
	}
	p.view.Store(&view{tiers: tiers, usable: len(usable), total: len(p.backends)})
	return nil
}

// Words for a backend's state as a whole.
const (
	statusEjected = "ejected"
	statusDown    = "down"
)

// status returns the state as a whole, in one word. With the pool's mutex held.
func (b *Backend) status() string {
	switch {
	case b.health == Down:
		return statusDown
	case b.ejected:
		return statusEjected
	}
	return b.health.String()
}

// usable tells whether b may get new sessions. With the pool's mutex held.
func (b *Backend) usable() bool { return b.eligible() && !b.ejected }

// eligible tells whether b would be usable were it not for an ejection.
func (b *Backend) eligible() bool { return b.cfg.Weight > 0 && b.health != Down }

func out(status string) bool { return status == statusDown || status == statusEjected }

// transition logs that b went out of use, came back, or is known to be up for the
// first time. A change between two ways of being out is no news to most.
func (p *Pool) transition(b *Backend, from string, c Cause) {
	to := b.status()
	level, msg := slog.LevelInfo, "backend up"
	switch {
	case from == to:
		return
	case out(from) && out(to):
		level, msg = slog.LevelDebug, "backend still down"
	case out(to):
		msg = "backend down"
	}
	p.log.LogAttrs(context.Background(), level, msg,
		slog.String("service", p.service), slog.String("backend", b.cfg.Name), slog.String("address", b.cfg.Address),
		slog.String("source", c.Source), slog.String("reason", c.Reason),
		slog.String("from", from), slog.String("to", to), slog.Int64("sessions", b.active.Load()),
		slog.Int("usable", p.view.Load().usable), slog.Int("total", len(p.backends)))
}

// sayOutage logs that the last usable backend went, or that one is back.
func (p *Pool) sayOutage(before int) {
	switch now := p.view.Load().usable; {
	case now == 0 && before > 0:
		p.noUsable("every backend is down")
	case now > 0 && before == 0:
		p.recovered()
	}
}

// noUsable logs the begin of an outage.
func (p *Pool) noUsable(reason string) {
	if p.outage.CompareAndSwap(0, time.Now().UnixNano()) {
		p.log.LogAttrs(context.Background(), slog.LevelWarn, "no usable backend",
			slog.String("service", p.service), slog.String("reason", reason), slog.Int("total", p.view.Load().total))
	}
}

// recovered ends an outage, if there is one: a backend is up, or has accepted a
// session.
func (p *Pool) recovered() {
	began := p.outage.Load()
	if began != 0 && p.outage.CompareAndSwap(began, 0) {
		after := time.Since(time.Unix(0, began)).Round(time.Millisecond)
		p.log.LogAttrs(context.Background(), slog.LevelInfo, "usable again", slog.String("service", p.service),
			slog.String("after", after.String()), slog.Int64("refused", p.refused.Swap(0)))
	}
}

// choose picks and reserves a backend; see view.choose.
func (p *Pool) choose(key uint64, tried []*Backend) (*Backend, relay.Why) {
	return p.view.Load().choose(key, tried)
}
