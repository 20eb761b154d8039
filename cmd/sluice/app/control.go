package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/l4"
)

// adminState reads a word of the API.
func adminState(word string) (a l4.Admin, known bool) {
	switch word {
	case api.Ready:
		return l4.Ready, true
	case api.Drain:
		return l4.Drain, true
	case api.Maint:
		return l4.Maint, true
	}
	return 0, false
}

// changePatience is for how long a change waits for another one.
const changePatience = 5 * time.Second

// change makes a change unless somebody else has made one since the caller looked, or the
// process ends.
func (a *App) change(m api.Mark, do func() error) error {
	select {
	case <-a.ending:
		return errDraining()
	case a.changing <- struct{}{}:
		defer func() { <-a.changing }()
	case <-time.After(changePatience): // who asked may have given up by then
		return refusal(api.CodeBusy, "another change has been under way for %v: nothing was changed; try again", changePatience)
	}
	if a.draining.Load() {
		return errDraining()
	}
	if now := a.revision.Load(); m.If != 0 && m.If != now {
		return refusal(api.CodeStale, "changed by somebody else since: you saw revision %d, it is %d now", m.If, now)
	}
	if err := do(); err != nil {
		return err
	}
	made := a.revision.Add(1)
	if m.Made != nil {
		*m.Made = made
	}
	return nil
}

// of runs f on a service's backend.
func (a *App) of(svc, backend string, f func(*service, *member) error) error {
	s, b, err := a.lookup(svc, backend)
	if err != nil {
		return err
	}
	return f(s, b)
}

// service returns a service in force.
func (a *App) service(name string) (*service, error) {
	if s := a.find(name); s != nil {
		return s, nil
	}
	return nil, noService(name, a.current())
}

// lookup returns a service's backend.
func (a *App) lookup(svc, backend string) (*service, *member, error) {
	s, err := a.service(svc)
	if err != nil {
		return nil, nil, err
	}
	a.state.RLock()
	defer a.state.RUnlock()
	if b := s.member(backend); b != nil {
		return s, b, nil
	}
	return nil, nil, noBackend(backend, s)
}

// cause words what a person did.
func cause(m api.Mark, what string) l4.Cause {
	if m.Who != "" {
		what += " by " + m.Who
	}
	return l4.Cause{Source: "admin", Reason: what, Who: m.Who}
}

// SetAdmin implements api.Control.
func (a *App) SetAdmin(m api.Mark, svc, backend, state string) (v api.Backend, err error) {
	want, known := adminState(state)
	if !known {
		return v, invalid("state %q: want ready, drain or maint", state)
	}
	err = a.change(m, func() error {
		return a.of(svc, backend, func(s *service, b *member) error {
			a.setAdmin(m, s, b, want)
			v = a.viewOf(s, b)
			return nil
		})
	})
	return v, err
}

// setAdmin changes the state. In maint nobody probes a backend.
func (a *App) setAdmin(m api.Mark, s *service, b *member, want l4.Admin) {
	words := map[l4.Admin]string{l4.Ready: "made ready", l4.Drain: "drained", l4.Maint: "put into maintenance"}
	was := s.l4.Pool().Admin(b.backend)
	// Out of a drain it may be another process than before: its first probe decides.
	anew := was == l4.Maint && want != l4.Maint || was == l4.Drain && want == l4.Ready && b.prober != nil
	if (want == l4.Maint || anew) && b.watch != nil {
		b.watch.Stop()
	}
	if anew {
		s.l4.Pool().SetHealth(b.backend, l4.Unknown, cause(m, "not probed since it was "+words[want]))
	}
	s.l4.Pool().SetAdmin(b.backend, want, cause(m, words[want]))
	if anew {
		s.watchOne(b, health.Unknown)
	}
	if was != want {
		a.did(m, s.name, b.cfg.Name, words[want])
	}
}

// did notes what a person did.
func (a *App) did(m api.Mark, svc, backend, what string) {
	a.events.add(Event{Kind: "admin", Service: svc, Backend: backend, Text: what, Who: m.Who})
	a.log.Info("changed", "service", svc, "backend", backend, "change", what, "who", m.Who)
}

func (a *App) viewOf(s *service, b *member) api.Backend {
	for _, st := range s.l4.Backends() {
		if st.Name == b.cfg.Name && !st.Leaving {
			return a.backendView(s.name, st)
		}
	}
	return api.Backend{Name: b.cfg.Name, Address: b.cfg.Address}
}

// Set implements api.Control.
func (a *App) Set(m api.Mark, svc, backend string, to api.Setting) (v api.Backend, err error) {
	if w := to.Weight; w != nil && (*w < 0 || *w > 256) {
		return v, invalid("weight %d: want 0 (no new sessions) to 256", *w)
	}
	err = a.change(m, func() error {
		return a.of(svc, backend, func(s *service, b *member) error {
			next, what := setting(b.cfg, to)
			edit := l4.Edit{Update: map[*l4.Backend]l4.BackendConfig{b.backend: l4.BackendConfig(next)}}
			if _, err := s.l4.Pool().Edit(edit, cause(m, strings.Join(what, ", "))); err != nil {
				return refusal(api.CodeInvalid, "%s", plain(err))
			}
			a.write(func() { b.cfg = next; s.noteBackends(a) })
			v = a.viewOf(s, b)
			a.did(m, svc, backend, strings.Join(what, ", "))
			return nil
		})
	})
	return v, err
}

// setting returns c as it is to be, and in words what is set. The pool knows what values may
// be.
func setting(c config.Backend, to api.Setting) (next config.Backend, what []string) {
	set := func(name string, value *int, key *int) {
		if value != nil {
			what = append(what, fmt.Sprintf("%s %d, was %d", name, *value, *key))
			*key = *value
		}
	}
	set("weight", to.Weight, &c.Weight)
	set("priority", to.Priority, &c.Priority)
	set("max_connections", to.MaxConnections, &c.MaxConnections)
	return c, what
}

// Pause implements api.Control.
func (a *App) Pause(m api.Mark, svc string, d time.Duration) error {
	if d <= 0 || d > time.Hour {
		return invalid("for %v: want above 0, at most 1h", d)
	}
	return a.change(m, func() error {
		s, err := a.service(svc)
		if err != nil {
			return err
		}
		if err := s.l4.Pause(d); err != nil {
			return refusal(api.CodeConflict, "%s", plain(err))
		}
		a.did(m, svc, "", "paused for "+d.String())
		return nil
	})
}

// Resume implements api.Control.
func (a *App) Resume(m api.Mark, svc string) (was bool, err error) {
	err = a.change(m, func() error {
		s, err := a.service(svc)
		if err != nil {
			return err
		}
		if was = s.l4.Resume(); was {
			a.did(m, svc, "", "resumed")
		}
		return nil
	})
	return was, err
}

// Kill implements api.Control. It is no change of what is in force, and works while the
// process drains too.
func (a *App) Kill(m api.Mark, f api.Filter) (n int, err error) {
	if f == (api.Filter{}) {
		return 0, invalid("which sessions? name a service, a backend, a client or an id")
	}
	keep, services, err := a.selection(f)
	if err != nil {
		return 0, err
	}
	for _, s := range services {
		n += s.l4.Kill(keep)
	}
	if n == 0 && f.ID != "" {
		return 0, refusal(api.CodeNotFound, "no session %q: it has ended, or never was", f.ID)
	}
	svc := f.Service
	if f.ID != "" {
		svc, _, _ = sessionID(f.ID)
	}
	a.did(m, svc, f.Backend, counted(n, "session")+" killed: "+selected(f))
	return n, nil
}

// selected says what a filter selects; the service and the backend stand beside it.
func selected(f api.Filter) string {
	var parts []string
	if f.ID != "" {
		parts = append(parts, "the one with id "+f.ID)
	}
	if f.Client != "" {
		parts = append(parts, "of client "+f.Client)
	}
	if f.MinAge > 0 {
		parts = append(parts, "at least "+time.Duration(f.MinAge).String()+" old")
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case f.Backend != "":
		return "all of the backend"
	}
	return "all of the service"
}

// counted is so many of a thing.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// reserve sets aside the descriptors that the file in force needs beside its sessions.
func (a *App) reserve() {
	limits := limitsFor(a.file, a.budget.Limit(), a.Engine.descriptors())
	a.budget.Reserve(limits.reserved)
	if limits.tight {
		a.log.Warn("descriptor limit is low", "limit", a.budget.Limit(), "sessions", a.budget.Sessions())
	}
}

// write changes what others look at.
func (a *App) write(f func()) {
	a.state.Lock()
	defer a.state.Unlock()
	f()
}
