package app

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

// Revision implements api.Control.
func (a *App) Revision() uint64 { return a.revision.Load() }

// Services implements api.Control: those in force, and then those that were removed and
// still have sessions. One of these may have the name of one in force.
func (a *App) Services() []api.Service {
	a.state.RLock()
	defer a.state.RUnlock()
	all := make([]api.Service, 0, len(a.services)+len(a.leaving))
	for _, s := range a.services {
		all = append(all, a.view(s))
	}
	for _, s := range a.leaving {
		v := a.view(s)
		v.Leaving = true
		all = append(all, v)
	}
	return all
}

// Service implements api.Control.
func (a *App) Service(name string) (api.Service, error) {
	a.state.RLock()
	defer a.state.RUnlock()
	for _, s := range a.services {
		if s.name == name {
			return a.view(s), nil
		}
	}
	for _, s := range a.leaving {
		if s.name == name {
			v := a.view(s)
			v.Leaving = true
			return v, nil
		}
	}
	return api.Service{}, noService(name, a.services)
}

// view is a service as the API shows it. With state held.
func (a *App) view(s *service) api.Service {
	st := s.l4.Stats()
	v := api.Service{
		Name: s.name, Listen: make([]string, 0, len(s.listening)), Balance: s.cfg.Balance, Sessions: st.Active, Held: st.Held,
		Backends: make([]api.Backend, 0, len(s.members)), Ended: st.Ended,
	}
	for _, l := range s.listening {
		if l.lost.Load() == nil {
			v.Listen = append(v.Listen, listenAddress(l.ln.Addr()))
		}
	}
	v.Lost = s.lost()
	if st.Paused > 0 {
		left := api.Duration(st.Paused)
		v.Paused = &left
	}
	for _, b := range s.l4.Backends() {
		w := a.backendView(s.name, b)
		if w.Usable {
			v.Usable++
		}
		v.Backends = append(v.Backends, w)
	}
	return v
}

func (a *App) backendView(service string, b l4.BackendStats) api.Backend {
	p50, p99 := a.metrics.ConnectQuantiles(service, b.Name)
	return api.Backend{
		Name: b.Name, Address: b.Address, Weight: b.Weight, Priority: b.Priority, MaxConnections: b.MaxConnections,
		Health: b.Health.String(), Ejected: b.Ejected, Admin: b.Admin.String(), Usable: b.Usable, State: b.State, Leaving: b.Leaving,
		Sessions: b.Sessions, Total: b.Total, Reason: b.Reason, Since: b.Since,
		Retries: b.Retries, DialFailures: b.DialFailures,
		BytesToBackend: b.Moved[relay.ToBackend], BytesToClient: b.Moved[relay.ToClient],
		ConnectP50: api.Duration(p50), ConnectP99: api.Duration(p99),
	}
}

// Status implements api.Control.
func (a *App) Status() api.Status {
	ready, why := a.Ready()
	st := api.Status{
		Version: a.Version, PID: os.Getpid(), Started: a.born, Uptime: api.Duration(time.Since(a.born).Round(time.Second)),
		Engine: string(a.Engine.Resolved()), File: a.Path, Revision: a.revision.Load(), Ready: ready, NotReady: why, Draining: a.draining.Load(),
		Descriptors: api.Descriptors{Limit: a.budget.Limit(), Sessions: int(min(a.budget.Sessions(), 1<<31))},
	}
	if a.LogDropped != nil {
		st.LogDropped = a.LogDropped()
	}
	a.state.RLock()
	defer a.state.RUnlock()
	st.Reload = a.reloads.view()
	st.Services = len(a.services)
	for _, s := range a.services {
		backends, usable := s.l4.Pool().Count()
		st.Backends += backends
		st.Usable += usable
	}
	for _, s := range slices.Concat(a.services, a.leaving) {
		stats := s.l4.Stats()
		st.Sessions += stats.Active
		st.Descriptors.Shed += stats.Ended[relay.Descriptors.String()]
	}
	return st
}

// Ready implements api.Control.
func (a *App) Ready() (ok bool, why string) {
	switch {
	case a.draining.Load():
		return false, "draining"
	case !a.ready.Load():
		return false, "starting: the first round of probes has not ended"
	case a.budget.Full():
		return false, "no descriptor is left for one more session"
	}
	a.state.RLock()
	defer a.state.RUnlock()
	for _, s := range a.services {
		if lost := s.lost(); len(lost) > 0 {
			return false, fmt.Sprintf("service %s: listener lost: %s", s.name, lost[0])
		}
	}
	return true, ""
}

// Config implements api.Control.
func (a *App) Config() []byte { return config.Format(config.Redacted(a.inForce())) }
