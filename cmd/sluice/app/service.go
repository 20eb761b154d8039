package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/history"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

// service is one service of the file, put together.
type service struct {
	cfg       config.Service
	l4        *l4.Service
	backends  []*l4.Backend
	monitor   *health.Monitor
	probers   []health.Prober // by backend; nil where there is no active check
	listeners []net.Listener
}

func (a *App) newService(c config.Service, d *l4.Descriptors) (*service, error) {
	s := &service{cfg: c}
	cfg := l4Config(c, a.file.Log.Sessions, a.engine, d, a.log)
	cfg.Transition = a.remember
	var err error
	if s.l4, err = l4.New(cfg); err != nil {
		return nil, err
	}
	backends := make([]l4.BackendConfig, len(c.Backends))
	for i, b := range c.Backends {
		backends[i] = l4.BackendConfig(b)
	}
	if s.backends, err = s.l4.Pool().Add(backends...); err != nil {
		return nil, fmt.Errorf("service %q: %w", c.Name, err)
	}
	s.monitor, err = health.NewMonitor(health.Config{
		Interval: c.Check.Interval, Timeout: c.Check.Timeout, Rise: c.Check.Rise, Fall: c.Check.Fall,
		Failures: c.Passive.Failures, Eject: c.Passive.Eject,
	})
	if err != nil {
		return nil, fmt.Errorf("service %q: %w", c.Name, err)
	}
	for _, b := range c.Backends {
		p, err := newProber(c, b)
		if err != nil {
			return nil, fmt.Errorf("service %q: check of %s: %w", c.Name, b.Address, err)
		}
		s.probers = append(s.probers, p)
	}
	return s, nil
}

func l4Config(c config.Service, sessions string, engine relay.Engine, d *l4.Descriptors, log *slog.Logger) l4.Config {
	return l4.Config{
		Name:    c.Name,
		Balance: c.Balance,
		Connect: l4.ConnectConfig{
			Timeout: c.Connect.Timeout, Attempts: c.Connect.Attempts, HedgeAfter: c.Connect.HedgeAfter,
			Hold: c.Connect.Hold, Replay: c.Connect.Replay,
		},
		Conflict:       conflictOf(c.Check),
		OnDown:         l4.OnDown(c.OnDown),
		CloseOver:      c.CloseOver,
		SlowStart:      c.SlowStart,
		Limits:         relay.Limits{Idle: c.Timeouts.Idle, HalfClose: c.Timeouts.HalfClose, User: c.Timeouts.User},
		KeepAlive:      c.Timeouts.Keepalive,
		Proxy:          l4.ProxyConfig{Send: sendVersion(c), Accept: c.ProxyProtocol.Accept, AcceptTimeout: c.ProxyProtocol.AcceptTimeout},
		Allow:          c.Allow,
		Deny:           c.Deny,
		MaxConnections: c.Limits.Connections,
		MaxPerSource:   c.Limits.PerSource,
		Engine:         engine,
		Descriptors:    d,
		Log:            log,
		SessionLog:     l4.SessionLog(sessions),
	}
}

// sendVersion returns the version of the PROXY header that backends get; 0 = none.
func sendVersion(c config.Service) int {
	return map[string]int{"v1": 1, "v2": 2}[c.ProxyProtocol.Send]
}

// bind opens the service's listeners.
func (s *service) bind(ctx context.Context) error {
	for _, address := range s.cfg.Listen {
		ln, err := l4.Listen(ctx, address)
		if err != nil {
			return fmt.Errorf("service %q: listen %s: %w", s.cfg.Name, address, err)
		}
		s.listeners = append(s.listeners, ln)
	}
	return nil
}

func (s *service) unbind() {
	for _, ln := range s.listeners {
		ln.Close()
	}
}

// watch starts the probes and lets them and the sessions of each backend know of each
// other.
func (s *service) watch() {
	for i, b := range s.backends {
		b.Observe(s.monitor.Add(s.probers[i], gate{s.l4.Pool(), b}))
	}
}

// gate carries a monitor's verdicts on one backend to its pool.
type gate struct {
	pool    *l4.Pool
	backend *l4.Backend
}

func (g gate) SetHealth(s health.State, c health.Cause) {
	h := map[health.State]l4.Health{health.Unknown: l4.Unknown, health.Up: l4.Up, health.Down: l4.Down}[s]
	g.pool.SetHealth(g.backend, h, causeOf(c))
}

func (g gate) Eject(c health.Cause) bool { return g.pool.Eject(g.backend, causeOf(c)) }

func (g gate) Restore(c health.Cause) bool { return g.pool.Restore(g.backend, causeOf(c)) }

func causeOf(c health.Cause) l4.Cause {
	return l4.Cause{
		Source: c.Source.String(), Reason: c.Reason, Took: c.Took, Streak: c.Streak,
		Step: c.Evidence.Step, Saw: c.Evidence.Saw, Errno: c.Evidence.Errno,
	}
}

// remember keeps a transition with its evidence.
func (a *App) remember(t l4.Transition) {
	a.history.Add(history.Entry{
		Time: t.Time, Service: t.Service, Backend: t.Backend, Address: t.Address, Source: t.Source, From: t.From, To: t.To,
		Reason: t.Reason, Step: t.Step, Saw: t.Saw, Errno: t.Errno, Took: t.Took, Streak: t.Streak, Who: t.Who,
		Sessions: t.Sessions, Usable: t.Usable, Total: t.Total,
	})
}

// History returns what is kept of a backend's transitions, the oldest first.
func (a *App) History(service, backend string) []history.Entry { return a.history.Of(service, backend) }
