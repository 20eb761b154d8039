package app

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

// Revision implements api.Control.
func (a *App) Revision() uint64 { return a.revision.Load() }

// Services implements api.Control: those in force, and then those that were removed and
// still have sessions, unless one in force has their name.
func (a *App) Services() []api.Service {
	a.state.RLock()
	defer a.state.RUnlock()
	all := make([]api.Service, 0, len(a.services)+len(a.leaving))
	for _, s := range a.services {
		all = append(all, a.view(s))
	}
	for _, s := range a.leaving {
		if !slices.ContainsFunc(all, func(o api.Service) bool { return o.Name == s.name }) {
			v := a.view(s)
			v.Leaving = true
			all = append(all, v)
		}
	}
	return all
}

// serviceView is a service as the API shows it, by name.
func (a *App) serviceView(name string) (api.Service, error) {
	a.state.RLock()
	defer a.state.RUnlock()
	for _, s := range a.services {
		if s.name == name {
			return a.view(s), nil
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
		v.Listen = append(v.Listen, listenAddress(l.ln.Addr()))
	}
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
		Health: b.Health.String(), Ejected: b.Ejected, Admin: b.Admin.String(), Usable: b.Usable, Leaving: b.Leaving,
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
	for _, s := range a.services {
		stats := s.l4.Stats()
		backends, usable := s.l4.Pool().Count()
		st.Services++
		st.Sessions += stats.Active
		st.Backends += backends
		st.Usable += usable
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
	return true, ""
}

// Sessions implements api.Control.
func (a *App) Sessions(f api.Filter, order string, limit int) (api.Sessions, error) {
	keep, services, err := a.selection(f)
	if err != nil {
		return api.Sessions{}, err
	}
	less, err := sessionOrder(order)
	if err != nil {
		return api.Sessions{}, err
	}
	all := []api.Session{}
	for _, s := range services {
		for _, i := range s.l4.Sessions(keep) {
			all = append(all, sessionView(s.name, i))
		}
	}
	slices.SortStableFunc(all, less)
	out := api.Sessions{Total: len(all), Sessions: all}
	if limit > 0 && len(all) > limit {
		out.Sessions = all[:limit]
	}
	return out, nil
}

func sessionView(service string, i l4.SessionInfo) api.Session {
	return api.Session{
		ID: service + "/" + strconv.FormatUint(i.ID, 10), Service: service, Client: clientName(i.Client), Backend: i.Backend, Phase: string(i.Phase),
		Start: i.Start, Age: api.Duration(time.Since(i.Start).Round(time.Millisecond)), Attempts: i.Attempts,
		BytesToBackend: i.Moved[relay.ToBackend], BytesToClient: i.Moved[relay.ToClient],
	}
}

func clientName(a netip.AddrPort) string {
	if a.IsValid() {
		return a.String()
	}
	return "unix"
}

// sessionOrder returns how sessions are sorted.
func sessionOrder(by string) (func(a, b api.Session) int, error) {
	switch by {
	case "", "age":
		return func(a, b api.Session) int { return a.Start.Compare(b.Start) }, nil
	case "bytes":
		return func(a, b api.Session) int {
			return int(min(max(b.BytesToBackend+b.BytesToClient-a.BytesToBackend-a.BytesToClient, -1), 1))
		}, nil
	case "client":
		return func(a, b api.Session) int { return strings.Compare(a.Client, b.Client) }, nil
	case "backend":
		return func(a, b api.Session) int { return strings.Compare(a.Backend, b.Backend) }, nil
	}
	return nil, invalid("sort %q: want age, bytes, client or backend", by)
}

// selection returns what a filter selects, and of which services.
func (a *App) selection(f api.Filter) (func(l4.SessionInfo) bool, []*service, error) {
	services := a.current()
	name, number, err := sessionID(f.ID)
	switch {
	case err != nil:
		return nil, nil, err
	case f.Backend != "" && f.Service == "":
		return nil, nil, invalid("a backend is of a service: name that too")
	case name != "" && f.Service != "" && f.Service != name:
		return nil, nil, invalid("session %q is not of service %q", f.ID, f.Service)
	case name == "":
		name = f.Service
	}
	if name != "" {
		s := a.find(name)
		if s == nil {
			return nil, nil, noService(name, services)
		}
		if f.Backend != "" {
			if _, _, err := a.lookup(name, f.Backend); err != nil {
				return nil, nil, err
			}
		}
		services = []*service{s}
	}
	client, err := clientPrefix(f.Client)
	if err != nil {
		return nil, nil, err
	}
	oldest := time.Now().Add(-time.Duration(f.MinAge))
	return func(i l4.SessionInfo) bool {
		return (number == 0 || i.ID == number) && (f.Backend == "" || i.Backend == f.Backend) &&
			(!client.IsValid() || client.Contains(i.Client.Addr().WithZone(""))) && !i.Start.After(oldest)
	}, services, nil
}

// sessionID takes SERVICE/NUMBER apart.
func sessionID(id string) (service string, number uint64, err error) {
	if id == "" {
		return "", 0, nil
	}
	service, digits, found := strings.Cut(id, "/")
	number, err = strconv.ParseUint(digits, 10, 64)
	if !found || err != nil || number == 0 {
		return "", 0, invalid("session %q: want SERVICE/NUMBER", id)
	}
	return service, number, nil
}

// clientPrefix reads an address or a CIDR; "" is none.
func clientPrefix(s string) (netip.Prefix, error) {
	if s == "" {
		return netip.Prefix{}, nil
	}
	if ip, err := netip.ParseAddr(s); err == nil {
		ip = ip.Unmap().WithZone("")
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, invalid("client %q: want an address or a CIDR, such as 10.1.2.3 or 10.1.0.0/16", s)
	}
	return p.Masked(), nil
}

// Pick implements api.Control.
func (a *App) Pick(name string, source netip.Addr) (api.Pick, error) {
	s := a.find(name)
	if s == nil {
		return api.Pick{}, noService(name, a.current())
	}
	source = source.Unmap()
	c := s.l4.Choose(source)
	p := api.Pick{
		Service: name, Source: source.String(), Balance: c.Balance, Choice: c.Backend, Certain: c.Certain, Why: c.Why,
		Candidates: []api.Candidate{}, Excluded: []api.Excluded{}, Key: fmt.Sprintf("%016x", c.Key), Digest: fmt.Sprintf("%016x", c.Digest),
	}
	for _, k := range c.Candidates {
		p.Candidates = append(p.Candidates, api.Candidate{
			Backend: k.Backend, Tier: k.Tier, Priority: k.Priority, Health: k.Health.String(), Weight: k.Weight, Sessions: k.Sessions,
		})
	}
	for _, e := range c.Excluded {
		p.Excluded = append(p.Excluded, api.Excluded(e))
	}
	return p, nil
}

// Config implements api.Control.
func (a *App) Config() []byte {
	a.state.RLock()
	defer a.state.RUnlock()
	return config.Format(config.Redacted(a.file))
}

func invalid(format string, args ...any) error { return refusal(api.CodeInvalid, format, args...) }

func refusal(code, format string, args ...any) error {
	return &api.ControlError{Fault: api.Fault{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func noService(name string, services []*service) error {
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.name
	}
	return refusal(api.CodeNotFound, "no service %q: there is %s", name, list(names))
}

func noBackend(name string, s *service) error {
	names := make([]string, len(s.members))
	for i, m := range s.members {
		names[i] = m.cfg.Name
	}
	return refusal(api.CodeNotFound, "no backend %q in service %q: there is %s", name, s.name, list(names))
}

// listed is how many names an error lists.
const listed = 20

func list(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > listed:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), n-listed)
	}
	return strings.Join(names, ", ")
}
