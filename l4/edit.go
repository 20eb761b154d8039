package l4

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/picker"
)

// Edit is a change of a pool's members.
type Edit struct {
	Add    []BackendConfig            // unknown in health
	Remove []*Backend                 // of these and of the next, those that are not in the pool are passed over
	Update map[*Backend]BackendConfig // weight, priority and connection limit; name and address stay
	Order  []string                   // the names of all that are in the pool afterwards; nil = new ones come last
}

// Edit changes the pool's members, all or nothing, in one step: no client meets a state in
// between. A backend that is added with the name and the address of one that was removed and
// still has sessions is that one, with its counters. It returns those added, in their order.
// No session begins on a removed one any more, not even one whose dial is under way; those
// that it has go on, see Service.EndRemoved. Errors wrap ErrBackend.
func (p *Pool) Edit(e Edit, c Cause) ([]*Backend, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrServiceClosed
	}
	next, err := p.edited(e)
	if err != nil {
		return nil, err
	}
	added := make([]*Backend, 0, len(e.Add))
	p.atOnce = true
	defer func() { p.atOnce = false }()
	p.settle(nil, c, func() (*note, bool) {
		for _, b := range e.Remove {
			p.expel(b, c)
		}
		for i, m := range next {
			if m.backend == nil {
				next[i].backend = p.admit(m.cfg)
				next[i].backend.joins = len(p.backends) > 0
			} else {
				m.backend.update(m.cfg)
			}
		}
		for _, b := range e.Remove {
			if b.removed { // and not back: that one was there all the time
				b.barred.Store(true)
			}
		}
		p.backends = make([]*Backend, len(next))
		named := make(map[string]*Backend, len(next))
		for i, m := range next {
			p.backends[i], named[m.cfg.Name] = m.backend, m.backend
		}
		for _, a := range e.Add {
			added = append(added, named[a.named().Name])
		}
		return nil, true
	})
	p.sayOutage(slices.ContainsFunc(added, (*Backend).usable))
	p.wake() // a limit may be higher
	return added, nil
}

// member is one of a pool as it will be; backend is nil for a new one.
type member struct {
	cfg     BackendConfig
	backend *Backend
}

// edited returns the members after e, if that can be.
func (p *Pool) edited(e Edit) ([]member, error) {
	var next []member
	for _, b := range p.backends {
		if slices.Contains(e.Remove, b) {
			continue
		}
		c := b.cfg
		if u, is := e.Update[b]; is {
			c.Weight, c.Priority, c.MaxConnections = u.Weight, u.Priority, u.MaxConnections
		}
		next = append(next, member{c, b})
	}
	for _, a := range e.Add {
		next = append(next, member{cfg: a.named()})
	}
	names := make(map[string]int, len(next))
	for i, m := range next {
		if err := m.cfg.fault(); err != nil {
			return nil, err
		}
		if _, twice := names[m.cfg.Name]; twice {
			return nil, fmt.Errorf("%w: two are named %q", ErrBackend, m.cfg.Name)
		}
		names[m.cfg.Name] = i
	}
	if err := p.fits(next); err != nil {
		return nil, err
	}
	if e.Order == nil {
		return next, nil
	}
	ordered := make([]member, 0, len(next))
	for _, name := range e.Order {
		i, is := names[name]
		if !is {
			return nil, fmt.Errorf("%w: the order names %q, which is not there, or twice", ErrBackend, name)
		}
		delete(names, name)
		ordered = append(ordered, next[i])
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("%w: the order leaves out %d", ErrBackend, len(names))
	}
	return ordered, nil
}

// fits tells whether the policy can have these backends, should all of them be usable.
func (p *Pool) fits(all []member) error {
	var candidates []picker.Backend
	var weights []int
	for _, m := range all {
		if m.cfg.Weight > 0 {
			candidates = append(candidates, picker.Backend{ID: m.cfg.Name, Weight: m.cfg.Weight})
			weights = append(weights, m.cfg.Weight)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	if _, err := picker.New(p.balance, candidates, picker.Options{RingPoints: picker.RingPoints(weights)}); err != nil {
		return fmt.Errorf("%w: %w", ErrBackend, err)
	}
	return nil
}

// expel takes b out; with mu held.
func (p *Pool) expel(b *Backend, c Cause) {
	if b.removed || !slices.Contains(p.backends, b) {
		return
	}
	p.leaving = append(p.leaving, b)
	b.removed = true
	b.removals++
	b.ordered = note{c.Reason, time.Now()}
}

// admit makes a backend, or takes back one that is leaving; with mu held.
func (p *Pool) admit(c BackendConfig) *Backend {
	for i, b := range p.left() {
		if b.cfg.Name == c.Name && b.cfg.Address == c.Address {
			p.leaving = slices.Delete(p.leaving, i, i+1)
			b.removed, b.admin, b.health, b.ejected = false, Ready, Unknown, false
			b.update(c)
			b.probed = note{"in the pool again, not probed yet", time.Now()}
			b.dialled, b.ordered = note{}, note{}
			return b
		}
	}
	return newBackend(c)
}

// update sets what may change of a backend; with the pool's mutex held.
func (b *Backend) update(c BackendConfig) {
	b.cfg.Weight, b.cfg.Priority, b.cfg.MaxConnections = c.Weight, c.Priority, c.MaxConnections
	b.limit.Store(int64(c.MaxConnections))
}

// named returns c with a name.
func (c BackendConfig) named() BackendConfig {
	if c.Name == "" {
		c.Name = c.Address
	}
	return c
}

// fault tells what is wrong with c.
func (c BackendConfig) fault() error {
	switch {
	case c.Address == "":
		return fmt.Errorf("%w: %q has no address", ErrBackend, c.Name)
	case c.Weight < 0 || c.Weight > 256:
		return fmt.Errorf("%w: %q: weight %d is not within 0..256", ErrBackend, c.Name, c.Weight)
	case c.Priority < 0 || c.MaxConnections < 0:
		return fmt.Errorf("%w: %q: priority and connection limit cannot be negative", ErrBackend, c.Name)
	}
	return nil
}
