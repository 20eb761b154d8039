package app

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/cmd/sluice/metrics"
	"github.com/sluicelb/sluice/cmd/sluice/ratelimit"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/l4"
)

// service is one service of the file, put together. What changes in it is guarded by the
// App's state.
type service struct {
	name      string // never changes
	cfg       config.Service
	l4        *l4.Service
	monitor   *health.Monitor
	members   []*member // in the order of the file
	listening []*listening
	limiter   *ratelimit.Limiter
	secrets   secrets // that its probes have
}

// member is a backend of a service.
type member struct {
	cfg     config.Backend
	backend *l4.Backend
	prober  health.Prober  // nil where there is no active check
	watch   *health.Member // nil before it is watched; in maint, a stopped one
	connect *metrics.Histogram
}

// newService makes a service that neither listens nor probes. Which sessions are logged is
// the file's.
func (a *App) newService(c config.Service, logged string) (*service, error) {
	s := &service{name: c.Name, cfg: c, limiter: ratelimit.New(c.Limits.RatePerSource, 0, 0), secrets: secretsOf(c.Check)}
	probers, err := probersOf(c)
	if err != nil {
		return nil, err
	}
	if s.monitor, err = newMonitor(c); err != nil {
		return nil, err
	}
	if s.l4, err = l4.New(a.l4Config(c, logged, s.limiter)); err != nil {
		return nil, err
	}
	backends, err := s.l4.Pool().Add(backendConfigs(c.Backends)...)
	if err != nil {
		s.l4.Close()
		return nil, fmt.Errorf("service %q: %w", c.Name, err)
	}
	for i, b := range backends {
		s.members = append(s.members, a.newMember(c, c.Backends[i], b, probers[i]))
	}
	return s, nil
}

func (a *App) newMember(c config.Service, b config.Backend, backend *l4.Backend, p health.Prober) *member {
	return &member{cfg: b, backend: backend, prober: a.timed(c.Name, b.Name, p), connect: a.metrics.Connect(c.Name, b.Name)}
}

// timed has a backend's probes counted; there may be none.
func (a *App) timed(service, backend string, p health.Prober) health.Prober {
	if p == nil {
		return nil
	}
	return timed{p, a.metrics.Probe(service, backend)}
}

// probersOf makes the active checks of a service's backends, in their order.
func probersOf(c config.Service) ([]health.Prober, error) {
	all := make([]health.Prober, len(c.Backends))
	for i, b := range c.Backends {
		var err error
		if all[i], err = newProber(c, b); err != nil {
			return nil, fmt.Errorf("service %q: check of %s: %w", c.Name, b.Address, err)
		}
	}
	return all, nil
}

func newMonitor(c config.Service) (*health.Monitor, error) {
	m, err := health.NewMonitor(health.Config{
		Interval: c.Check.Interval, Timeout: c.Check.Timeout, Rise: c.Check.Rise, Fall: c.Check.Fall,
		Failures: c.Passive.Failures, Eject: c.Passive.Eject,
	})
	if err != nil {
		return nil, fmt.Errorf("service %q: %w", c.Name, err)
	}
	return m, nil
}

func backendConfigs(all []config.Backend) []l4.BackendConfig {
	out := make([]l4.BackendConfig, len(all))
	for i, b := range all {
		out[i] = l4.BackendConfig(b)
	}
	return out
}

// watch starts the probes and lets them and the sessions of each backend know of each
// other.
func (s *service) watch() {
	for _, m := range s.members {
		s.watchOne(m, health.Unknown)
	}
}

// watchOne does so for one, which is in that state.
func (s *service) watchOne(m *member, state health.State) {
	m.watch = s.monitor.Resume(m.prober, gate{s.l4.Pool(), m.backend}, state)
	m.backend.Observe(observer{m.watch, m.connect})
}

// member returns a backend by name, nil if there is none.
func (s *service) member(name string) *member {
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.cfg.Name == name })
	if i < 0 {
		return nil
	}
	return s.members[i]
}

// observer passes on what sessions learn of a backend, and times its dials.
type observer struct {
	*health.Member
	connect *metrics.Histogram
}

func (o observer) DialOK(began time.Time) {
	o.connect.Observe(time.Since(began))
	o.Member.DialOK(began)
}
