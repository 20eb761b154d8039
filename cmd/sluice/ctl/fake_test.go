package ctl

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// fake is a server in memory: the routes of /api/v1 as api describes them.
type fake struct {
	mux   *http.ServeMux
	token string // "" = none is asked for

	mu        sync.Mutex // guards the rest
	status    api.Status
	services  []api.Service
	sessions  api.Sessions
	failures  []api.Failure
	events    []api.Event
	lost      bool
	story     api.Explanation
	pick      api.Pick
	plan      api.Plan
	removed   api.Removed
	killed    int
	wasPaused bool
	fault     *api.Fault // what every change is answered with
	stream    func(w http.ResponseWriter, r *http.Request)
	asked     []string // "METHOD URI BODY" of each request that is not a plain GET of status or services
	header    http.Header
	drains    int64 // sessions that end with each look at a service
}

// began is when the fake's process started; its clock stands an hour later.
var began = time.Date(2026, 3, 14, 2, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return began.Add(time.Hour - d) }

// newFake has two services: web, where b2 is down, and redis, where all is well.
func newFake() *fake {
	f := &fake{
		status: api.Status{
			Version: "v1.2.3", PID: 77, Started: began, Uptime: api.Duration(time.Hour), Revision: 17, Ready: true,
			Sessions: 12, Services: 2, Backends: 4, Usable: 3,
		},
		services: []api.Service{
			{Name: "web", Listen: []string{"10.0.0.10:443"}, Balance: "least-conn", Sessions: 7, Usable: 1, Backends: []api.Backend{
				{Name: "b1", Address: "10.0.0.1:80", Weight: 1, Health: "up", Admin: api.Ready, Usable: true, Sessions: 5, Total: 120_345,
					Since: ago(50 * time.Minute), ConnectP50: api.Duration(850 * time.Microsecond), ConnectP99: api.Duration(12 * time.Millisecond)},
				{Name: "b2", Address: "10.0.0.2:80", Weight: 10, Health: "down", Admin: api.Ready, Sessions: 2, Total: 7,
					Since: ago(5 * time.Minute), Reason: "http: status 503, want 200-399"},
			}},
			{Name: "redis", Listen: []string{"127.0.0.1:6379", "unix:/run/redis.sock"}, Balance: "first", Sessions: 5, Usable: 2, Backends: []api.Backend{
				{Name: "unix:/run/r1.sock", Address: "unix:/run/r1.sock", Weight: 1, Health: "up", Admin: api.Ready, Usable: true, Sessions: 5, Total: 2_345_678, Since: ago(time.Hour)},
				{Name: "[::1]:6380", Address: "[::1]:6380", Weight: 1, Priority: 1, Health: "unknown", Admin: api.Ready, Usable: true, Since: ago(time.Hour)},
			}},
		},
	}
	f.mux = http.NewServeMux()
	f.readRoutes()
	f.changeRoutes()
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"17"`)
	body, _ := io.ReadAll(r.Body)
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		refuse(w, http.StatusUnauthorized, api.Fault{Code: api.CodeUnauthorized, Message: "token missing or wrong"})
		return
	}
	f.mu.Lock()
	line := strings.TrimSpace(r.Method + " " + strings.TrimPrefix(r.RequestURI, "/api/v1") + " " + string(body))
	if r.Method != http.MethodGet || r.URL.RawQuery != "" {
		f.asked = append(f.asked, line)
		f.header = r.Header.Clone()
	}
	fault := f.fault
	f.mu.Unlock()
	if r.Method != http.MethodGet && fault != nil {
		refuse(w, statusFor[fault.Code], *fault)
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	f.mux.ServeHTTP(w, r)
}

var statusFor = map[string]int{
	api.CodeInvalid: 400, api.CodeForbidden: 403, api.CodeNotFound: 404, api.CodeConflict: 409, api.CodeStale: 412, api.CodeConfig: 422,
	api.CodeBusy: 503, api.CodeInternal: 500,
}

func refuse(w http.ResponseWriter, status int, fault api.Fault) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(api.Error{Error: fault})
}

// answer registers a route that answers with what get returns.
func (f *fake) answer(pattern string, get func(r *http.Request) (any, *api.Fault)) {
	method, path, _ := strings.Cut(pattern, " ")
	f.mux.HandleFunc(method+" /api/v1"+path, func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		v, fault := get(r)
		text, _ := json.Marshal(v)
		f.mu.Unlock()
		if fault != nil {
			refuse(w, statusFor[fault.Code], *fault)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(text)
	})
}

func (f *fake) readRoutes() {
	f.answer("GET /status", func(*http.Request) (any, *api.Fault) { return f.status, nil })
	f.answer("GET /services", func(*http.Request) (any, *api.Fault) { return f.services, nil })
	f.answer("GET /services/{s}", func(r *http.Request) (any, *api.Fault) {
		s, fault := f.service(r)
		if s != nil {
			for i := range s.Backends {
				if b := &s.Backends[i]; b.Admin == api.Drain || b.Leaving {
					b.Sessions = max(0, b.Sessions-f.drains)
				}
			}
			s.Backends = slices.DeleteFunc(s.Backends, func(b api.Backend) bool { return b.Leaving && b.Sessions == 0 })
		}
		return s, fault
	})
	f.answer("GET /services/{s}/backends/{b}/explain", func(r *http.Request) (any, *api.Fault) {
		_, fault := f.backend(r)
		return f.story, fault
	})
	f.answer("GET /services/{s}/pick", func(r *http.Request) (any, *api.Fault) {
		_, fault := f.service(r)
		return f.pick, fault
	})
	f.answer("GET /sessions", func(*http.Request) (any, *api.Fault) { return f.sessions, nil })
	f.answer("GET /failures", func(*http.Request) (any, *api.Fault) { return f.failures, nil })
	f.answer("GET /events", func(r *http.Request) (any, *api.Fault) {
		since, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64)
		list := slices.DeleteFunc(slices.Clone(f.events), func(e api.Event) bool { return e.ID <= since })
		return api.Events{Events: list, Lost: f.lost}, nil
	})
	f.mux.HandleFunc("GET /api/v1/events/stream", func(w http.ResponseWriter, r *http.Request) { f.stream(w, r) })
}

func (f *fake) changeRoutes() {
	f.answer("PUT /services/{s}/backends/{b}/admin", func(r *http.Request) (any, *api.Fault) {
		b, fault := f.backend(r)
		if fault == nil {
			var a api.AdminState
			json.NewDecoder(r.Body).Decode(&a)
			b.Admin, b.Usable = a.State, a.State == api.Ready && b.Health != "down"
			f.recount()
		}
		return b, fault
	})
	f.answer("PUT /services/{s}/backends/{b}/weight", func(r *http.Request) (any, *api.Fault) {
		b, fault := f.backend(r)
		if fault == nil {
			var w api.Weight
			json.NewDecoder(r.Body).Decode(&w)
			b.Weight, b.Usable = *w.Weight, *w.Weight > 0 && b.Health != "down"
			f.recount()
		}
		return b, fault
	})
	f.answer("PATCH /services/{s}/backends/{b}", func(r *http.Request) (any, *api.Fault) {
		b, fault := f.backend(r)
		if fault == nil {
			to := api.Setting{Weight: &b.Weight, Priority: &b.Priority, MaxConnections: &b.MaxConnections}
			json.NewDecoder(r.Body).Decode(&to)
			b.Usable = b.Weight > 0 && b.Health != "down"
			f.recount()
		}
		return b, fault
	})
	f.answer("POST /services/{s}/backends", func(r *http.Request) (any, *api.Fault) {
		s, fault := f.service(r)
		if fault != nil {
			return nil, fault
		}
		var n api.NewBackend
		json.NewDecoder(r.Body).Decode(&n)
		b := api.Backend{Name: n.Name, Address: n.Address, Weight: 1, Health: "unknown", Admin: api.Ready}
		if n.Weight != nil {
			b.Weight = *n.Weight
		}
		if b.Name == "" {
			b.Name = b.Address
		}
		s.Backends = append(s.Backends, b)
		return b, nil
	})
	f.answer("DELETE /services/{s}/backends/{b}", func(r *http.Request) (any, *api.Fault) {
		b, fault := f.backend(r)
		if fault == nil {
			b.Leaving, b.Usable = true, false
			f.recount()
		}
		return f.removed, fault
	})
	f.answer("POST /services/{s}/backends/{b}/kill", func(r *http.Request) (any, *api.Fault) {
		b, fault := f.backend(r)
		if fault != nil {
			return nil, fault
		}
		n := int(b.Sessions)
		b.Sessions = 0
		return api.Killed{Killed: n}, nil
	})
	service := func(r *http.Request) (any, *api.Fault) { _, fault := f.service(r); return struct{}{}, fault }
	f.answer("POST /services/{s}/pause", service)
	f.answer("POST /services/{s}/resume", func(r *http.Request) (any, *api.Fault) {
		_, fault := f.service(r)
		return map[string]bool{"was": f.wasPaused}, fault
	})
	f.answer("POST /sessions/kill", func(*http.Request) (any, *api.Fault) { return api.Killed{Killed: f.killed}, nil })
	f.answer("POST /plan", func(*http.Request) (any, *api.Fault) { return f.plan, nil })
	f.answer("POST /reload", func(*http.Request) (any, *api.Fault) { return f.plan, nil })
}

func (f *fake) service(r *http.Request) (*api.Service, *api.Fault) {
	for i := range f.services {
		if f.services[i].Name == r.PathValue("s") {
			return &f.services[i], nil
		}
	}
	return nil, &api.Fault{Code: api.CodeNotFound, Message: fmt.Sprintf("no service %q", r.PathValue("s"))}
}

func (f *fake) backend(r *http.Request) (*api.Backend, *api.Fault) {
	s, fault := f.service(r)
	if fault != nil {
		return nil, fault
	}
	for i := range s.Backends {
		if s.Backends[i].Name == r.PathValue("b") {
			return &s.Backends[i], nil
		}
	}
	return nil, &api.Fault{Code: api.CodeNotFound, Message: fmt.Sprintf("no backend %q", r.PathValue("b"))}
}

func (f *fake) recount() {
	for i := range f.services {
		s := &f.services[i]
		s.Usable = 0
		for _, b := range s.Backends {
			if b.Usable {
				s.Usable++
			}
		}
	}
}

// requests returns what was asked for since the last call.
func (f *fake) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}
