package admin

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// How many are listed unless the client says otherwise.
const (
	someSessions = 1000
	someFailures = 100
)

// list is s as JSON has it: a list is never null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// The questions that Control answers as they are.

func (s *Server) getStatus(*request) (any, error) { return s.cfg.Control.Status(), nil }

func (s *Server) getServices(*request) (any, error) { return list(s.cfg.Control.Services()), nil }

func (s *Server) getService(q *request) (any, error) { return s.cfg.Control.Service(q.service()) }

func (s *Server) getBackends(q *request) (any, error) {
	service, err := s.cfg.Control.Service(q.service())
	return list(service.Backends), err
}

func (s *Server) getBackend(q *request) (any, error) { return s.find(q.service(), q.backend()) }

// find returns a backend by its names. One that is leaving may share its name with its
// successor, which is the one that is meant.
func (s *Server) find(service, backend string) (found api.Backend, err error) {
	in, err := s.cfg.Control.Service(service)
	if err != nil {
		return found, err
	}
	named := func(b api.Backend) bool { return b.Name == backend }
	i := slices.IndexFunc(in.Backends, func(b api.Backend) bool { return named(b) && !b.Leaving })
	if i < 0 {
		i = slices.IndexFunc(in.Backends, named)
	}
	if i < 0 {
		return found, refused(api.CodeNotFound, "service %q has no backend %q", clip(service), clip(backend))
	}
	return in.Backends[i], nil
}

// explain understands the time here, by the clock and in the zone of the process, since that is
// what its log has.
func (s *Server) explain(q *request) (any, error) {
	at, err := when(time.Now(), q.text("at"))
	if err != nil {
		return nil, err
	}
	return s.cfg.Control.Explain(q.service(), q.backend(), at)
}

// pick takes an address as sessions see it: IPv4 as IPv4, and without a zone.
func (s *Server) pick(q *request) (any, error) {
	source, err := netip.ParseAddr(q.text("source"))
	if err != nil {
		return nil, invalid("source %q: want an IP address, without a port", clip(q.text("source")))
	}
	return s.cfg.Control.Pick(q.service(), source.Unmap().WithZone(""))
}

// getSessions lists sessions that a filter selects.
func (s *Server) getSessions(q *request) (any, error) {
	f := api.Filter{Service: q.text("service"), Backend: q.text("backend"), Client: q.text("client")}
	age, _, err := q.duration("min_age")
	if err != nil {
		return nil, err
	}
	f.MinAge = api.Duration(age)
	if err := checkFilter(f); err != nil {
		return nil, err
	}
	sorts := []string{"age", "bytes", "client", "backend"}
	sort := q.text("sort")
	if sort == "" {
		sort = sorts[0]
	}
	if !slices.Contains(sorts, sort) {
		return nil, invalid("sort %q: want %s", clip(sort), oneOf(sorts))
	}
	limit, err := q.number("limit", someSessions)
	if err != nil {
		return nil, err
	}
	found, err := s.cfg.Control.Sessions(f, sort, limit)
	found.Sessions = list(found.Sessions)
	return found, err
}

// checkFilter refuses filters that select nothing, or not what was meant.
func checkFilter(f api.Filter) error {
	if f.Backend != "" && f.Service == "" {
		return invalid("backend %q: want a service too, since names are those of a service", clip(f.Backend))
	}
	if f.MinAge < 0 {
		return invalid("min_age %s: want a duration from 0", f.MinAge)
	}
	if f.Client == "" {
		return nil
	}
	_, err := netip.ParseAddr(f.Client)
	if _, cidr := netip.ParsePrefix(f.Client); err != nil && cidr != nil {
		return invalid("client %q: want an IP address or a CIDR", clip(f.Client))
	}
	return nil
}

// getFailures and getEvents do not ask whether there is such a service: what happened to one that
// was removed is still of interest.
func (s *Server) getFailures(q *request) (any, error) {
	limit, err := q.number("limit", someFailures)
	if err != nil {
		return nil, err
	}
	return list(s.cfg.Control.Failures(q.text("service"), limit)), nil
}

func (s *Server) getEvents(q *request) (any, error) {
	since, err := eventID("since", q.text("since"))
	if err != nil {
		return nil, err
	}
	found := s.cfg.Control.Events(since, q.text("service"))
	found.Events = list(found.Events)
	return found, nil
}

// eventID understands the ID of an event; "" is 0, before all of them.
func eventID(key, s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	id, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, invalid("%s %q: want the id of an event", key, clip(s))
	}
	return id, nil
}

// getConfig answers with the text of a file.
func (s *Server) getConfig(*request) (any, error) {
	text := s.cfg.Control.Config()
	return answer(func(w http.ResponseWriter) error {
		write(w, http.StatusOK, fileBody.mediaType(), text)
		return nil
	}), nil
}
