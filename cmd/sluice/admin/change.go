package admin

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

const (
	maxWeight   = 256
	longestStop = time.Hour // of a service that is paused
)

// setAdmin is PUT …/admin.
func (s *Server) setAdmin(q *request) (any, error) {
	var to api.AdminState
	if err := decode(q.body, &to); err != nil {
		return nil, err
	}
	states := []string{api.Ready, api.Drain, api.Maint}
	if !slices.Contains(states, to.State) {
		return nil, invalid("state %q: want %s", clip(to.State), oneOf(states))
	}
	return s.cfg.Control.SetAdmin(q.mark, q.service(), q.backend(), to.State)
}

// setWeight tells a weight that is missing from one of 0, which takes a backend out of use.
func (s *Server) setWeight(q *request) (any, error) {
	var to api.Weight
	if err := decode(q.body, &to); err != nil {
		return nil, err
	}
	if to.Weight == nil {
		return nil, invalid("weight: required, 0 to %d", maxWeight)
	}
	return s.setAll(q, api.Setting{Weight: to.Weight})
}

// set changes what is given, all of it or nothing.
func (s *Server) set(q *request) (any, error) {
	var to api.Setting
	if err := decode(q.body, &to); err != nil {
		return nil, err
	}
	if to == (api.Setting{}) {
		return nil, invalid("nothing to set: want weight, priority or max_connections")
	}
	return s.setAll(q, to)
}

func (s *Server) setAll(q *request, to api.Setting) (any, error) {
	if to.Weight != nil {
		if err := checkWeight(*to.Weight); err != nil {
			return nil, err
		}
	}
	for name, n := range map[string]*int{"priority": to.Priority, "max_connections": to.MaxConnections} {
		if n != nil && *n < 0 {
			return nil, invalid("%s %d: want 0 or more", name, *n)
		}
	}
	return s.cfg.Control.Set(q.mark, q.service(), q.backend(), to)
}

func checkWeight(w int) error {
	if w < 0 || w > maxWeight {
		return invalid("weight %d: want 0 to %d", w, maxWeight)
	}
	return nil
}

// add checks what can be checked of a backend by itself. Control knows the rest: what an
// address may be, and which names there are.
func (s *Server) add(q *request) (any, error) {
	var b api.NewBackend
	if err := decode(q.body, &b); err != nil {
		return nil, err
	}
	switch {
	case b.Address == "":
		return nil, invalid("address: required; want host:port or unix:/PATH")
	case b.Priority < 0:
		return nil, invalid("priority %d: want 0 or more", b.Priority)
	case b.MaxConnections < 0:
		return nil, invalid("max_connections %d: want 0 (no limit) or more", b.MaxConnections)
	}
	if b.Weight != nil {
		if err := checkWeight(*b.Weight); err != nil {
			return nil, err
		}
	}
	made, err := s.cfg.Control.Add(q.mark, q.service(), b)
	if err != nil {
		return nil, err
	}
	return answer(func(w http.ResponseWriter) error {
		w.Header().Set("Location", prefix+"services/"+url.PathEscape(q.service())+"/backends/"+url.PathEscape(made.Name))
		writeJSON(w, http.StatusCreated, made)
		return nil
	}), nil
}

// remove leaves it to the service how long sessions go on, unless the client says so.
func (s *Server) remove(q *request) (any, error) {
	d, given, err := q.duration("within")
	if err != nil {
		return nil, err
	}
	var within *time.Duration
	if given {
		within = &d
	}
	return s.cfg.Control.Remove(q.mark, q.service(), q.backend(), within)
}

// pause has an end in any case: a service that somebody forgot to resume is an outage.
func (s *Server) pause(q *request) (any, error) {
	var p api.Pause
	if err := decode(q.body, &p); err != nil {
		return nil, err
	}
	if d := time.Duration(p.For); d <= 0 || d > longestStop {
		return nil, invalid("for %s: want above 0, at most %v", p.For, longestStop)
	}
	return p, s.cfg.Control.Pause(q.mark, q.service(), time.Duration(p.For))
}

// resume is no error for a service that was not paused: it is as was wanted.
func (s *Server) resume(q *request) (any, error) {
	was, err := s.cfg.Control.Resume(q.mark, q.service())
	return api.Resumed{Was: was}, err
}

// killBackend resets the sessions of one backend.
func (s *Server) killBackend(q *request) (any, error) {
	if _, err := s.find(q.service(), q.backend()); err != nil {
		return nil, err // to kill nothing because of a typing error looks like success
	}
	n, err := s.cfg.Control.Kill(q.mark, api.Filter{Service: q.service(), Backend: q.backend()})
	return api.Killed{Killed: n}, err
}

// kill needs a filter: an empty one is rather a mistake than a wish. Who wants every session to
// end says so with the client 0.0.0.0/0 or ::/0.
func (s *Server) kill(q *request) (any, error) {
	var f api.Filter
	if err := decode(q.body, &f); err != nil {
		return nil, err
	}
	if f == (api.Filter{}) {
		return nil, invalid("the filter is empty, which is every session: want id, service, backend, client or min_age")
	}
	if err := checkFilter(f); err != nil {
		return nil, err
	}
	n, err := s.cfg.Control.Kill(q.mark, f)
	return api.Killed{Killed: n}, err
}

// reload takes no file from the client: what is in force stands on the disk, and is there
// after a restart.
func (s *Server) reload(q *request) (any, error) { return planned(s.cfg.Control.Reload(q.mark)) }

// plan changes nothing, so it needs no mark.
func (s *Server) plan(q *request) (any, error) {
	name := clip(q.text("name"))
	if name == "" {
		name = "file"
	}
	return planned(s.cfg.Control.Plan(name, q.body))
}

// planned is a plan whose list is a list, also when nothing changes.
func planned(p api.Plan, err error) (any, error) {
	p.Changes = list(p.Changes)
	return p, err
}
