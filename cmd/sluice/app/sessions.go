package app

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

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
	services, err := a.selected(name, f.Backend)
	if err != nil {
		return nil, nil, err
	}
	client, err := clientPrefix(f.Client)
	if err != nil {
		return nil, nil, err
	}
	if f.MinAge < 0 {
		return nil, nil, invalid("min_age %v: cannot be negative", f.MinAge)
	}
	oldest := time.Now().Add(-time.Duration(f.MinAge))
	return func(i l4.SessionInfo) bool {
		return (number == 0 || i.ID == number) && (f.Backend == "" || i.Backend == f.Backend) &&
			(!client.IsValid() || client.Contains(i.Client.Addr().Unmap().WithZone(""))) && !i.Start.After(oldest)
	}, services, nil
}

// selected returns the services of a name, "" being any: the one in force, and those that are
// leaving. One that is not there is refused, and so is a backend that none of them has.
func (a *App) selected(name, backend string) ([]*service, error) {
	services := a.all()
	if name == "" {
		return services, nil
	}
	all := slices.DeleteFunc(slices.Clone(services), func(s *service) bool { return s.name != name })
	if len(all) == 0 {
		return nil, noService(name, a.current())
	}
	has := func(s *service) bool {
		return slices.ContainsFunc(s.l4.Backends(), func(b l4.BackendStats) bool { return b.Name == backend })
	}
	if backend != "" && !slices.ContainsFunc(all, has) {
		a.state.RLock()
		defer a.state.RUnlock()
		return nil, noBackend(backend, all[0])
	}
	return all, nil
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
