package app

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/l4"
)

// reload is one under way: all that can fail is done before anything changes.
type reload struct {
	*App
	mark  api.Mark
	file  config.File // that is to be in force
	edits []*edit     // one for each service of the file, in its order
	gone  []*service
	late  []late       // listeners that can be opened only when others are closed
	lent  []*listening // old ones, on whose sockets new ones are
	shut  []*listening // old ones that were closed for late ones
}

// edit is what becomes of a service of the file.
type edit struct {
	s         *service
	cfg       config.Service
	fresh     bool            // it is new, and has all that cfg says but listeners
	probers   []health.Prober // by the new backends; nil for a new service
	secrets   secrets         // that those have
	monitor   *health.Monitor // nil: it stays
	listening []*listening    // afterwards, in the order of the file
	opened    []*listening    // of them, those that are new
}

// apply makes file the configuration in force, as a whole or not at all.
func (a *App) apply(m api.Mark, file config.File) error {
	r := &reload{App: a, mark: m, file: keepStarted(a.file, file)}
	err := r.prepare()
	if err == nil {
		err = r.openLate()
	}
	if err != nil {
		r.abandon()
		return err
	}
	if r.draining.Load() { // this took long
		r.abandon()
		return errDraining()
	}
	r.commit()
	return nil
}

// keepStarted returns next with what only a start can change as it is now, so that each
// plan tells of it until then.
func keepStarted(now, next config.File) config.File {
	next.Admin, next.StateDir, next.Log.Format = now.Admin, now.StateDir, now.Log.Format
	return next
}

// prepare makes all that is new.
func (r *reload) prepare() error {
	for _, s := range r.services {
		if serviceOf(r.file, s.name) == nil {
			r.gone = append(r.gone, s)
		}
	}
	for _, c := range r.file.Services {
		e := &edit{s: r.find(c.Name), cfg: c}
		var err error
		if e.s == nil {
			e.fresh = true
			e.s, err = r.newService(c, r.file.Log.Sessions)
		} else {
			err = r.prepareEdit(e)
		}
		if err != nil {
			return refusal(api.CodeConfig, "%s", plain(err))
		}
		r.edits = append(r.edits, e)
	}
	return r.openListeners()
}

func (r *reload) prepareEdit(e *edit) (err error) {
	if e.probers, err = probersOf(e.cfg); err != nil {
		return err
	}
	e.secrets = secretsOf(e.cfg.Check)
	if checksDiffer(e.s.cfg, e.cfg) || e.s.secrets != e.secrets {
		if e.monitor, err = newMonitor(e.cfg); err != nil {
			return err
		}
	}
	return l4.Validate(r.l4Config(e.cfg, r.file.Log.Sessions, e.s.limiter), backendConfigs(e.cfg.Backends))
}

// checksDiffer tells whether probes have to begin anew: what they ask, how they are judged,
// or what they begin with.
func checksDiffer(old, s config.Service) bool {
	return old.ProxyProtocol.Send != s.ProxyProtocol.Send || slices.ContainsFunc(config.Differences(old, s), func(d config.Difference) bool {
		return strings.HasPrefix(d.Key, "check.") || strings.HasPrefix(d.Key, "passive.")
	})
}

// abandon gives up what was made, and opens again what was closed.
func (r *reload) abandon() {
	for _, e := range r.edits {
		for _, l := range e.opened {
			l.close()
		}
		if e.fresh {
			r.dissolve(e.s)
		}
	}
	r.reopen()
}

// dissolve is for a service that never began.
func (r *reload) dissolve(s *service) {
	s.l4.Close()
	s.monitor.Close()
	r.forget(s)
}

// commit does what cannot fail.
func (r *reload) commit() {
	next := make([]*service, len(r.edits))
	r.write(func() { r.App.file = r.file })
	for i, e := range r.edits {
		next[i] = e.s
		if e.fresh {
			r.write(func() { e.s.listening = e.listening })
			r.begin(e.s)
		} else {
			r.edit(e)
		}
	}
	r.write(func() {
		r.App.services = next
		r.leaving = slices.Concat(r.leaving, r.gone)
	})
	for _, s := range r.gone {
		r.noteGone(s, cause(r.mark, "its service was removed"))
		r.part(s)
	}
	r.setProcess()
}

// setProcess does so for what is not a service's.
func (r *reload) setProcess() {
	var level slog.Level
	if err := level.UnmarshalText([]byte(r.file.Log.Level)); err == nil && r.Level != nil {
		r.Level.Set(level)
	}
	r.reserve()
}
