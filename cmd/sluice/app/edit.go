package app

import (
	"slices"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/l4"
)

// edit changes a service that stays: first what sessions begin with, then its backends, all
// in one step, then its probes, then its listeners.
func (r *reload) edit(e *edit) {
	s, old := e.s, e.s.cfg
	if old.Limits.RatePerSource != e.cfg.Limits.RatePerSource {
		s.limiter.SetRate(e.cfg.Limits.RatePerSource)
	}
	if err := s.l4.Reconfigure(r.l4Config(e.cfg, r.file.Log.Sessions, s.limiter)); err != nil {
		r.log.Error("reload incomplete", "service", s.name, "error", err) // after Validate it is not to be
	}
	removed := r.editMembers(e)
	if e.monitor != nil {
		r.rewatch(e)
	}
	for _, m := range removed {
		r.dismiss(s, m, e.cfg.DrainTimeout)
	}
	r.relisten(e)
	s.secrets = e.secrets
	known := Warnings(old)
	r.warn(s.name, slices.DeleteFunc(Warnings(e.cfg), func(w string) bool { return slices.Contains(known, w) }))
}

// memberEdit is what becomes of a service's backends.
type memberEdit struct {
	l4.Edit
	next    []*member // in the order of the file; nil where it is new
	removed []*member
}

// memberEditOf compares. Another address is another backend, whatever its name.
func memberEditOf(s *service, c config.Service) memberEdit {
	e := memberEdit{Edit: l4.Edit{Update: map[*l4.Backend]l4.BackendConfig{}}, next: make([]*member, len(c.Backends))}
	known, stays := make(map[string]*member, len(s.members)), make(map[*member]bool, len(s.members))
	for _, m := range s.members {
		known[m.cfg.Name] = m
	}
	for i, b := range c.Backends {
		e.Order = append(e.Order, b.Name)
		if m := known[b.Name]; m != nil && m.cfg.Address == b.Address {
			e.next[i], stays[m] = m, true
			e.Update[m.backend] = l4.BackendConfig(b)
		} else {
			e.Add = append(e.Add, l4.BackendConfig(b))
		}
	}
	for _, m := range s.members {
		if !stays[m] {
			e.removed = append(e.removed, m)
			e.Remove = append(e.Remove, m.backend)
		}
	}
	return e
}

// editMembers makes the backends those of the file, and returns those that are not any more.
func (r *reload) editMembers(e *edit) (removed []*member) {
	s, change := e.s, memberEditOf(e.s, e.cfg)
	added, err := s.l4.Pool().Edit(change.Edit, cause(r.mark, "the configuration changed"))
	if err != nil {
		r.log.Error("reload incomplete", "service", s.name, "error", err) // after Validate it is not to be
		r.write(func() { s.cfg = e.cfg; s.noteBackends(r.App) })
		return nil
	}
	var fresh []*member
	for i, c := range e.cfg.Backends {
		switch {
		case change.next[i] == nil:
			change.next[i] = r.newMember(e.cfg, c, added[0], e.probers[i])
			added = added[1:]
			fresh = append(fresh, change.next[i])
		case e.monitor != nil:
			change.next[i].prober = r.timed(s.name, c.Name, e.probers[i])
		}
	}
	r.write(func() {
		for i, c := range e.cfg.Backends {
			change.next[i].cfg = c
		}
		s.members, s.cfg = change.next, e.cfg
	})
	r.noteBack(s.name, "in the file again", fresh...)
	if e.monitor == nil {
		for _, m := range fresh {
			s.watchOne(m, health.Unknown)
		}
	}
	return change.removed
}

// rewatch has the backends watched by other settings. Their states stay until the new probes
// say otherwise; ejections end, since nobody would end them. It waits for probes that are
// under way, which it cancels: the old monitor is not to overrule the new one.
func (r *reload) rewatch(e *edit) {
	s, pool := e.s, e.s.l4.Pool()
	s.monitor.Close()
	r.write(func() { s.monitor = e.monitor })
	ejected := map[string]bool{}
	for _, b := range s.l4.Backends() {
		ejected[b.Name] = ejected[b.Name] || b.Ejected && !b.Leaving
	}
	for _, m := range s.members {
		if ejected[m.cfg.Name] {
			pool.Restore(m.backend, cause(r.mark, "its check was changed"))
		}
		if pool.Admin(m.backend) == l4.Maint {
			continue // it is watched when it is out of that
		}
		state := stateOf(pool.Health(m.backend))
		if m.prober == nil && state != health.Unknown {
			pool.SetHealth(m.backend, l4.Unknown, cause(r.mark, "it is not checked any more"))
			state = health.Unknown
		}
		s.watchOne(m, state)
	}
}

// relisten has the service listen where the file says. Afterwards nobody is accepted by the
// old rules any more.
func (r *reload) relisten(e *edit) {
	old := e.s.listening
	r.write(func() { e.s.listening = e.listening })
	for _, l := range e.opened {
		r.serve(e.s, l)
	}
	for _, l := range old {
		if !slices.Contains(e.listening, l) {
			l.close()
			<-l.done
		}
	}
}
