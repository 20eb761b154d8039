package page

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// change plays a change: refused as it was told to, or done.
func (f *fake) change(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	c := change{r.Method, r.URL.Path, string(b), r.Header.Get("If-Match"), r.Header.Get("X-Sluice-Page"), r.Header.Get("Content-Type")}
	f.asked = append(f.asked, c)
	switch {
	case !f.authorized(w, r):
	case c.page != f.pageToken:
		f.fail(w, http.StatusForbidden, api.CodeForbidden, "not from this page")
	case c.ifMatch != f.etag():
		f.fail(w, http.StatusPreconditionFailed, api.CodeStale, "changed since")
	case f.refuse != nil:
		f.fail(w, http.StatusInternalServerError, f.refuse.Code, f.refuse.Message)
	default:
		f.revision++
		f.apply(r.PathValue("s"), r.PathValue("b"), r.URL.Path, b)
		f.write(w, http.StatusOK, struct{}{})
	}
}

func (f *fake) apply(service, backend, path string, body []byte) {
	s := &f.services[slices.IndexFunc(f.services, func(s api.Service) bool { return s.Name == service })]
	switch {
	case strings.HasSuffix(path, "/pause"):
		var p api.Pause
		json.Unmarshal(body, &p)
		s.Paused = &p.For
		f.tell(api.Event{Kind: "admin", Service: service, Text: "paused for " + p.For.String(), Who: "page"})
	case strings.HasSuffix(path, "/resume"):
		s.Paused = nil
		f.tell(api.Event{Kind: "admin", Service: service, Text: "resumed", Who: "page"})
	default:
		var a api.AdminState
		json.Unmarshal(body, &a)
		b := &s.Backends[slices.IndexFunc(s.Backends, func(b api.Backend) bool { return b.Name == backend })]
		b.Admin, b.Usable, b.Reason, b.Since = a.State, a.State == api.Ready, "set by page", time.Now()
		s.Usable = countUsable(s.Backends)
		f.tell(api.Event{Kind: "admin", Service: service, Backend: backend, Text: "set to " + a.State, Who: "page"})
	}
}

func (f *fake) status() api.Status {
	st := api.Status{
		Version: f.version, Started: f.started, Uptime: api.Duration(time.Since(f.started)), Engine: "epoll",
		Revision: f.revision, Ready: f.notReady == "", NotReady: f.notReady, Services: len(f.services), Reload: f.reload,
	}
	for _, s := range f.services {
		st.Sessions += s.Sessions
		st.Backends += len(s.Backends)
		st.Usable += s.Usable
	}
	return st
}

// tick returns the services, after some traffic if there is any.
func (f *fake) tick() []api.Service {
	for i := range f.services {
		s := &f.services[i]
		if !f.live {
			break
		}
		s.Sessions = 0
		for j := range s.Backends {
			if b := &s.Backends[j]; b.Usable {
				step := (time.Now().UnixMilli()/700 + int64(3*i+5*j)) % 11
				b.Sessions = 20 + 3*step
				b.Total += 30 + 9*step
				b.ConnectP99 = api.Duration(time.Duration(900+140*step) * time.Microsecond)
			}
			s.Sessions += s.Backends[j].Sessions
		}
	}
	return f.services
}

func countUsable(backends []api.Backend) (n int) {
	for _, b := range backends {
		if b.Usable {
			n++
		}
	}
	return n
}

// service returns one whose backends are all up.
func service(name, listen, balance string, backends ...api.Backend) api.Service {
	s := api.Service{Name: name, Listen: []string{listen}, Balance: balance, Backends: backends, Ended: map[string]int64{"eof": 10}, Usable: len(backends)}
	for _, b := range backends {
		s.Sessions += b.Sessions
	}
	return s
}

func up(name, address string, sessions int64) api.Backend {
	return api.Backend{
		Name: name, Address: address, Weight: 1, Health: "up", Admin: api.Ready, Usable: true, Sessions: sessions, Total: 100 * sessions,
		Reason: "2 probes succeeded", Since: time.Now().Add(-95 * time.Minute), DialFailures: map[string]int64{},
		ConnectP50: api.Duration(240 * time.Microsecond), ConnectP99: api.Duration(1900 * time.Microsecond),
	}
}

// small is three services, as in most tests.
func small() []api.Service {
	standby := up("standby", "10.0.1.2:5432", 0)
	standby.Priority, standby.ConnectP50, standby.ConnectP99 = 1, 0, 0
	heavy := up("b3", "10.0.0.3:6379", 30)
	heavy.Weight, heavy.MaxConnections = 3, 500
	return []api.Service{
		service("redis", "127.0.0.1:6379", "least-conn", up("b1", "10.0.0.1:6379", 12), up("b2", "10.0.0.2:6379", 18), heavy),
		service("postgres", "127.0.0.1:5432", "first", up("primary", "10.0.1.1:5432", 41), standby),
		service("web", "0.0.0.0:8080", "maglev", up("10.0.2.1:80", "10.0.2.1:80", 230), up("10.0.2.2:80", "10.0.2.2:80", 241), up("10.0.2.3:80", "10.0.2.3:80", 228)),
	}
}

// fleet is many: services, each with as many backends.
func fleet(services, backends int) []api.Service {
	all := make([]api.Service, services)
	for i := range all {
		bs := make([]api.Backend, backends)
		for j := range bs {
			bs[j] = up(fmt.Sprintf("b%d-%d", i, j), fmt.Sprintf("10.%d.%d.%d:80", i, j/250, j%250), int64(j%7))
		}
		all[i] = service(fmt.Sprintf("service-%02d", i), fmt.Sprintf("127.0.0.1:%d", 20000+i), "round-robin", bs...)
	}
	return all
}
