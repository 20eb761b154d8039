package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/l4"
)

// reloads is what has become of them; guarded by the App's state.
type reloads struct {
	applied, refused int64
	at               time.Time
	err              string
}

func (r reloads) view() api.Reload {
	return api.Reload{Count: r.applied, Refused: r.refused, Time: r.at, Error: r.err}
}

// Plan implements api.Control.
func (a *App) Plan(name string, src []byte) (api.Plan, error) {
	file, err := a.Parse(name, src)
	if err != nil {
		return api.Plan{}, asConfigFault(err)
	}
	a.state.RLock()
	now := a.file
	a.state.RUnlock()
	return Diff(now, file), nil
}

// asConfigFault is what is wrong with a file, one line for each fault.
func asConfigFault(err error) error {
	var faults config.Faults
	f := api.Fault{Code: api.CodeConfig, Message: err.Error()}
	if errors.As(err, &faults) {
		f.Faults = strings.Split(strings.TrimSpace(err.Error()), "\n")
		f.Message = "the file is wrong in one place; nothing has changed"
		if n := len(f.Faults); n > 1 {
			f.Message = fmt.Sprintf("the file is wrong in %d places; nothing has changed", n)
		}
	}
	return &api.ControlError{Fault: f}
}

// first is an error on one line: of a file, its first fault with its place.
func first(err error) string {
	switch faults := api.AsFault(err).Faults; len(faults) {
	case 0:
		return err.Error()
	case 1:
		return faults[0]
	default:
		return fmt.Sprintf("%s (and %d more)", faults[0], len(faults)-1)
	}
}

// Reload implements api.Control: it reads the file that the App was started with and makes
// it so. Whatever is wrong with it, nothing has changed then.
func (a *App) Reload(m api.Mark) (plan api.Plan, err error) {
	err = a.change(m, func() error {
		if a.Path == "" {
			return refusal(api.CodeConflict, "there is no file to read again: the process was started from flags")
		}
		if !a.ready.Load() && len(a.services) == 0 {
			return refusal(api.CodeBusy, "not started yet")
		}
		file, err := a.Load(a.Path)
		if err != nil {
			return asConfigFault(err)
		}
		a.state.RLock()
		plan = Diff(a.file, file)
		a.state.RUnlock()
		return a.apply(m, file)
	})
	a.write(func() {
		a.reloads.at, a.reloads.err = time.Now(), ""
		if err != nil {
			a.reloads.refused++
			a.reloads.err = first(err)
			return
		}
		a.reloads.applied++
	})
	if err != nil {
		a.log.Warn("reload refused", "file", a.Path, "error", strings.Join(append([]string{err.Error()}, api.AsFault(err).Faults...), "; "), "who", m.Who)
		a.events.add(Event{Kind: "reload", Text: "refused: " + first(err), Who: m.Who})
		return api.Plan{}, err
	}
	plan.Applied = true
	a.log.Info("reloaded", "file", a.Path, "changes", summary(plan), "revision", a.revision.Load(), "who", m.Who)
	a.events.add(Event{Kind: "reload", Text: summary(plan), Who: m.Who})
	return plan, nil
}

// reload is one under way: all that can fail is done before anything changes.
type reload struct {
	*App
	mark  api.Mark
	file  config.File
	next  []*service // in the order of the file
	edits []edit     // of services that stay
	gone  []*service
	late  []late // listeners that can be opened only when others are closed
}

// edit is what changes in a service that stays.
type edit struct {
	s       *service
	cfg     config.Service
	probers []health.Prober // by the new backends
	monitor *health.Monitor // nil: it stays
	opened  []*listening
}

// late is a listener whose address a listener that is to be closed still has.
type late struct {
	e       *edit
	address string
}

// apply makes file the configuration in force, as a whole or not at all.
func (a *App) apply(m api.Mark, file config.File) error {
	r := &reload{App: a, mark: m, file: file}
	if err := r.prepare(); err != nil {
		r.abandon()
		return err
	}
	if err := r.openLate(); err != nil {
		r.abandon()
		return err
	}
	r.commit()
	return nil
}

// prepare makes all that is new.
func (r *reload) prepare() error {
	for _, s := range r.services {
		if serviceOf(r.file, s.name) == nil {
			r.gone = append(r.gone, s)
		}
	}
	for _, c := range r.file.Services {
		old := r.find(c.Name)
		if old == nil {
			s, err := r.newService(c)
			if err != nil {
				return asRefused(err)
			}
			r.next = append(r.next, s)
			r.edits = append(r.edits, edit{s: s, cfg: c})
			continue
		}
		r.next = append(r.next, old)
		e := edit{s: old, cfg: c}
		if err := r.prepareEdit(&e); err != nil {
			return asRefused(err)
		}
		r.edits = append(r.edits, e)
	}
	return r.openListeners()
}

func asRefused(err error) error { return refusal(api.CodeConfig, "%s", plain(err)) }

func (r *reload) prepareEdit(e *edit) (err error) {
	if e.probers, err = probersOf(e.cfg); err != nil {
		return err
	}
	if checksDiffer(e.s.cfg, e.cfg) {
		if e.monitor, err = newMonitor(e.cfg); err != nil {
			return err
		}
	}
	return l4.Validate(r.l4Config(e.cfg, e.s.limiter), backendConfigs(e.cfg.Backends))
}

// checksDiffer tells whether probes have to begin anew: what they ask, how they are judged,
// or what they begin with.
func checksDiffer(old, s config.Service) bool {
	return old.ProxyProtocol.Send != s.ProxyProtocol.Send || slices.ContainsFunc(config.Differences(old, s), func(d config.Difference) bool {
		return strings.HasPrefix(d.Key, "check") || strings.HasPrefix(d.Key, "passive")
	})
}

// openListeners opens those that are new. An address that another service gives up is shared
// with it until that closes it: no client is refused.
func (r *reload) openListeners() error {
	given := map[string]*listening{}
	for _, s := range r.services {
		for _, l := range s.listening {
			if c := serviceOf(r.file, s.name); c == nil || !slices.Contains(c.Listen, l.address) {
				given[l.address], given[listenAddress(l.ln.Addr())] = l, l // port 0 may be spelled out now
			}
		}
	}
	for i := range r.edits {
		e := &r.edits[i]
		times := map[string]int{}
		for _, address := range e.cfg.Listen {
			n, have := times[address], e.s.on(address)
			times[address]++
			from := given[address]
			switch {
			case n < len(have) && !r.reopens(e):
				continue
			case n < len(have):
				from = have[n]
			}
			if err := r.openOne(e, address, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// reopens tells whether a service's listeners are to be opened again, since clients inherit
// what has changed from them.
func (r *reload) reopens(e *edit) bool {
	return e.s.cfg.Timeouts.User != e.cfg.Timeouts.User || e.s.cfg.Timeouts.Keepalive != e.cfg.Timeouts.Keepalive
}

func (r *reload) openOne(e *edit, address string, from *listening) error {
	if strings.HasSuffix(address, ":0") && from != nil && !slices.Contains(e.s.listening, from) {
		from = nil // each service has a port of its own
	}
	all, err := r.open(context.Background(), address, from)
	switch {
	case err != nil && r.freed(address):
		r.late = append(r.late, late{e, address})
		return nil
	case err != nil:
		return refusal(api.CodeConfig, "service %q: listen %s: %s", e.cfg.Name, address, plain(err))
	}
	for _, ln := range all {
		e.opened = append(e.opened, newListening(address, ln))
	}
	return nil
}

// freed tells whether a listener that is to be closed has the port of an address.
func (r *reload) freed(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && slices.ContainsFunc(r.closing(), func(l *listening) bool {
		_, p, err := net.SplitHostPort(l.ln.Addr().String())
		return err == nil && p == port
	})
}

// closing returns the listeners that the new configuration does not have.
func (r *reload) closing() (all []*listening) {
	for _, s := range r.services {
		c := serviceOf(r.file, s.name)
		for _, l := range s.listening {
			if c == nil || !slices.Contains(c.Listen, l.address) {
				all = append(all, l)
			}
		}
	}
	return all
}

// openLate closes what stands in the way of listeners and opens them. Clients are refused in
// between. If that fails, what was closed is opened again.
func (r *reload) openLate() error {
	var shut, opened []*listening
	for i, l := range r.late {
		_, port, _ := net.SplitHostPort(l.address)
		for _, c := range r.closing() {
			if _, p, err := net.SplitHostPort(c.ln.Addr().String()); err == nil && p == port && !c.closed.Load() {
				c.release()
				shut = append(shut, c)
			}
		}
		all, err := r.open(context.Background(), l.address, nil)
		if err != nil {
			for _, o := range opened { // they may be in the way of what comes back
				o.close()
			}
			r.reopen(shut)
			return refusal(api.CodeConfig, "service %q: listen %s: %s (%d of %d opened)", l.e.cfg.Name, l.address, plain(err), i, len(r.late))
		}
		for _, ln := range all {
			o := newListening(l.address, ln)
			l.e.opened, opened = append(l.e.opened, o), append(opened, o)
		}
	}
	return nil
}

// reopen brings back listeners that were closed for others which could not be opened.
func (r *reload) reopen(shut []*listening) {
	for _, s := range r.services {
		for i, l := range s.listening {
			if !slices.Contains(shut, l) {
				continue
			}
			ln, err := l4.Listen(context.Background(), l.ln.Addr().String())
			if err != nil {
				r.log.Error("listener lost", "service", s.name, "address", listenAddress(l.ln.Addr()), "error", err)
				continue
			}
			again := newListening(l.address, ln)
			r.write(func() { s.listening = slices.Replace(slices.Clone(s.listening), i, i+1, again) })
			r.serve(s, again)
		}
	}
}

// abandon gives up what was made.
func (r *reload) abandon() {
	for _, e := range r.edits {
		for _, l := range e.opened {
			l.close()
		}
		if !slices.Contains(r.services, e.s) {
			r.dissolve(e.s)
		}
	}
}

// dissolve is for a service that never began.
func (r *reload) dissolve(s *service) {
	s.l4.Close()
	s.monitor.Close()
	for _, m := range s.members {
		r.metrics.Forget(s.name, m.cfg.Name)
	}
}

// commit does what cannot fail.
func (r *reload) commit() {
	was := r.services
	r.write(func() { r.App.file = r.file })
	for _, e := range r.edits {
		if slices.Contains(was, e.s) {
			r.edit(e)
		} else {
			r.write(func() { e.s.listening = e.opened })
			r.begin(e.s)
		}
	}
	r.write(func() {
		r.App.services = r.next
		r.App.leaving = append(r.App.leaving, r.gone...)
	})
	for _, s := range r.gone {
		r.part(s)
	}
	if r.Level != nil {
		var level slog.Level
		if err := level.UnmarshalText([]byte(r.file.Log.Level)); err == nil {
			r.Level.Set(level)
		}
	}
	r.budget.Reserve(limitsFor(r.file, r.budget.Limit(), r.Engine.descriptors()).reserved)
}

// edit changes a service that stays: first what sessions begin with, then its backends, all
// in one step, then its probes, then its listeners.
func (r *reload) edit(e edit) {
	s := e.s
	if old := s.cfg; old.Limits.RatePerSource != e.cfg.Limits.RatePerSource {
		s.limiter.SetRate(e.cfg.Limits.RatePerSource)
	}
	if err := s.l4.Reconfigure(r.l4Config(e.cfg, s.limiter)); err != nil {
		r.log.Error("reload incomplete", "service", s.name, "error", err) // after Validate it is not to be
	}
	removed := r.editMembers(e)
	if e.monitor != nil {
		r.rewatch(e)
	}
	for _, m := range removed {
		r.release(s, m, e.cfg.DrainTimeout)
	}
	r.relisten(e)
}

// editMembers makes the backends those of the file, and returns those that are not any more.
func (r *reload) editMembers(e edit) (removed []*member) {
	s := e.s
	change := l4.Edit{Update: map[*l4.Backend]l4.BackendConfig{}}
	members := make([]*member, len(e.cfg.Backends))
	for i, c := range e.cfg.Backends {
		change.Order = append(change.Order, c.Name)
		if m := s.member(c.Name); m != nil && m.cfg.Address == c.Address {
			members[i] = m
			change.Update[m.backend] = l4.BackendConfig(c)
		} else {
			change.Add = append(change.Add, l4.BackendConfig(c))
		}
	}
	for _, m := range s.members {
		if !slices.Contains(members, m) {
			removed = append(removed, m)
			change.Remove = append(change.Remove, m.backend)
		}
	}
	added, err := s.l4.Pool().Edit(change, cause(r.mark, "the configuration changed"))
	if err != nil {
		r.log.Error("reload incomplete", "service", s.name, "error", err) // after Validate it is not to be
		r.write(func() { s.cfg = e.cfg })
		return nil
	}
	var fresh []*member
	for i, c := range e.cfg.Backends {
		if members[i] == nil {
			members[i] = r.newMember(e.cfg, c, added[0], e.probers[i])
			added = added[1:]
			fresh = append(fresh, members[i])
		}
		if p := e.probers[i]; p != nil && e.monitor != nil {
			members[i].prober = timed{p, r.metrics.Probe(s.name, c.Name)}
		} else if p == nil {
			members[i].prober = nil
		}
	}
	r.write(func() {
		for i, c := range e.cfg.Backends {
			members[i].cfg = c
		}
		s.members, s.cfg = members, e.cfg
	})
	if e.monitor == nil {
		for _, m := range fresh {
			s.watchOne(m, health.Unknown)
		}
	}
	return removed
}

// rewatch has the backends watched by other settings. Their states stay until the new probes
// say otherwise; ejections end, since nobody would end them.
func (r *reload) rewatch(e edit) {
	s, old := e.s, e.s.monitor
	states := map[*l4.Backend]health.State{}
	for _, m := range s.members {
		states[m.backend] = map[l4.Health]health.State{l4.Unknown: health.Unknown, l4.Up: health.Up, l4.Down: health.Down}[s.l4.Pool().Health(m.backend)]
	}
	old.Close()
	r.write(func() { s.monitor = e.monitor })
	for _, m := range s.members {
		s.l4.Pool().Restore(m.backend, cause(r.mark, "its check was changed"))
		state := states[m.backend]
		if m.prober == nil && state != health.Unknown {
			s.l4.Pool().SetHealth(m.backend, l4.Unknown, cause(r.mark, "it is not checked any more"))
			state = health.Unknown
		}
		s.watchOne(m, state)
		if s.l4.Pool().Admin(m.backend) == l4.Maint {
			m.watch.Stop()
		}
	}
}

// relisten closes the listeners that are not in the file any more and serves the new ones.
func (r *reload) relisten(e edit) {
	var shut []*listening
	r.write(func() {
		var kept []*listening
		for _, l := range e.s.listening {
			again := slices.ContainsFunc(e.opened, func(o *listening) bool { return o.address == l.address })
			if slices.Contains(e.cfg.Listen, l.address) && !again {
				kept = append(kept, l)
			} else {
				shut = append(shut, l)
			}
		}
		e.s.listening = append(kept, e.opened...)
	})
	for _, l := range e.opened {
		r.serve(e.s, l)
	}
	for _, l := range shut {
		l.close()
	}
}
