package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/l4"
)

// Add implements api.Control.
func (a *App) Add(m api.Mark, svc string, n api.NewBackend) (v api.Backend, err error) {
	err = a.change(m, func() error {
		s, err := a.service(svc)
		if err != nil {
			return err
		}
		c := backendFrom(n)
		as := s.cfg
		as.Listen = a.Addresses(svc) // with the ports that the system chose
		if err := config.CheckBackend(as, c); err != nil {
			return invalid("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if s.member(c.Name) != nil {
			return refusal(api.CodeConflict, "service %q has a backend %q already", svc, c.Name)
		}
		b, err := a.addMember(m, s, c)
		if err != nil {
			return err
		}
		v = a.viewOf(s, b)
		a.did(m, svc, c.Name, "added "+c.Address)
		return nil
	})
	return v, err
}

// backendFrom returns a backend as the file would have it.
func backendFrom(n api.NewBackend) config.Backend {
	c := config.Backend{Address: n.Address, Name: n.Name, Weight: 1, Priority: n.Priority, MaxConnections: n.MaxConnections}
	if n.Weight != nil {
		c.Weight = *n.Weight
	}
	if c.Name == "" {
		c.Name = c.Address
	}
	return c
}

func (a *App) addMember(m api.Mark, s *service, c config.Backend) (*member, error) {
	p, err := newProber(s.cfg, c)
	if err != nil {
		return nil, refusal(api.CodeInvalid, "check of %s: %s", c.Address, err)
	}
	added, err := s.l4.Pool().Edit(l4.Edit{Add: []l4.BackendConfig{l4.BackendConfig(c)}}, cause(m, "added"))
	if err != nil {
		return nil, invalid("%s", plain(err))
	}
	b := a.newMember(s.cfg, c, added[0], p)
	a.write(func() {
		s.members = append(slices.Clone(s.members), b)
		s.noteBackends(a)
		a.reserve()
	})
	a.noteBack(s.name, "added by "+m.Who, b)
	s.watchOne(b, health.Unknown)
	return b, nil
}

// Remove implements api.Control.
func (a *App) Remove(m api.Mark, svc, backend string, within *time.Duration) (r api.Removed, err error) {
	if within != nil && *within < 0 {
		return r, invalid("within %v: want a time above 0, or 0 for no bound", *within)
	}
	err = a.change(m, func() error {
		return a.of(svc, backend, func(s *service, b *member) error {
			if len(s.members) == 1 {
				return refusal(api.CodeConflict,
					"%q is the last backend of %q: a service has at least one; drain it, or remove the service from the file", backend, svc)
			}
			d := s.cfg.DrainTimeout
			if within != nil {
				d = *within
			}
			if err := a.removeMember(m, s, b); err != nil {
				return err
			}
			r = api.Removed{Sessions: b.backend.Sessions(), Within: api.Duration(d)}
			a.dismiss(s, b, d)
			a.did(m, svc, backend, fmt.Sprintf("removed, %d sessions go on", r.Sessions))
			return nil
		})
	})
	return r, err
}

func (a *App) removeMember(m api.Mark, s *service, b *member) error {
	if _, err := s.l4.Pool().Edit(l4.Edit{Remove: []*l4.Backend{b.backend}}, cause(m, "removed")); err != nil {
		return invalid("%s", plain(err))
	}
	a.write(func() {
		s.members = slices.DeleteFunc(slices.Clone(s.members), func(o *member) bool { return o == b })
		s.noteBackends(a)
		a.reserve()
	})
	return nil
}

// dismiss ends what there is of a backend that is out of its pool.
func (a *App) dismiss(s *service, b *member, within time.Duration) {
	b.watch.Stop()
	a.metrics.Forget(s.name, b.cfg.Name)
	s.l4.EndRemoved(b.backend, within)
}

// noteBackends has the file in force say what the members are. With state held for writing.
func (s *service) noteBackends(a *App) {
	backends := make([]config.Backend, len(s.members))
	for i, m := range s.members {
		backends[i] = m.cfg
	}
	s.cfg.Backends = backends
	services := slices.Clone(a.file.Services)
	for i := range services {
		if services[i].Name == s.name {
			services[i] = s.cfg
		}
	}
	a.file.Services = services
}
