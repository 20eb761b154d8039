package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// fake serves the page and plays the API of a balancer that lives in memory.
type fake struct {
	srv  *httptest.Server
	done chan struct{} // closed at the end, for requests that are never answered

	mu        sync.Mutex
	started   time.Time
	revision  uint64
	services  []api.Service
	events    []api.Event
	watchers  map[chan api.Event]bool
	asked     []change
	pageToken string
	token     string // "" = none is asked for
	refuse    *api.Fault
	mode      mode
	version   string
	notReady  string
	reload    api.Reload
	live      bool          // counters grow with each answer
	lost      bool          // events before the first are no longer there
	hold      chan struct{} // events are not told until it is closed; nil = at once
}

// change is a request that was to change something.
type change struct{ method, path, body, ifMatch, page, media string }

// mode is how the process misbehaves.
type mode int

const (
	works  mode = iota
	closes      // it closes each connection, as a dead one does
	silent      // it takes requests and never answers
)

func newFake(t *testing.T, services []api.Service) *fake {
	f := &fake{
		done: make(chan struct{}), started: time.Now().Add(-3 * time.Hour), revision: 7,
		version: "1.2.3", services: services, watchers: make(map[chan api.Event]bool), pageToken: testToken,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { Handler(f.currentToken()).ServeHTTP(w, r) })
	mux.HandleFunc("GET /api/v1/status", f.answer(func() any { return f.status() }))
	mux.HandleFunc("GET /api/v1/services", f.answer(func() any { return f.tick() }))
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if f.hold != nil {
			select {
			case <-f.hold:
			case <-f.done:
			}
		}
		f.answer(func() any { return api.Events{Events: f.events, Lost: f.lost} })(w, r)
	})
	mux.HandleFunc("GET /api/v1/events/stream", f.stream)
	mux.HandleFunc("PUT /api/v1/services/{s}/backends/{b}/admin", f.change)
	mux.HandleFunc("POST /api/v1/services/{s}/pause", f.change)
	mux.HandleFunc("POST /api/v1/services/{s}/resume", f.change)
	f.srv = httptest.NewServer(f.misbehave(mux))
	t.Cleanup(func() {
		close(f.done)
		f.srv.CloseClientConnections()
		f.srv.Close()
	})
	return f
}

// with changes the fake between answers.
func (f *fake) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// hang makes the process misbehave, towards connections that it has as well.
func (f *fake) hang(m mode) {
	f.with(func() { f.mode = m })
	f.srv.CloseClientConnections()
}

func (f *fake) misbehave(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		m := f.mode
		f.mu.Unlock()
		switch m {
		case closes:
			panic(http.ErrAbortHandler)
		case silent:
			select {
			case <-r.Context().Done():
			case <-f.done:
			}
		default:
			h.ServeHTTP(w, r)
		}
	})
}

func (f *fake) answer(get func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.authorized(w, r) {
			f.write(w, http.StatusOK, get())
		}
	}
}

func (f *fake) authorized(w http.ResponseWriter, r *http.Request) bool {
	if f.token == "" || r.Header.Get("Authorization") == "Bearer "+f.token {
		return true
	}
	f.fail(w, http.StatusUnauthorized, api.CodeUnauthorized, "token missing or wrong")
	return false
}

func (f *fake) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", f.etag())
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (f *fake) fail(w http.ResponseWriter, status int, code, message string) {
	f.write(w, status, api.Error{Error: api.Fault{Code: code, Message: message}})
}

func (f *fake) etag() string { return fmt.Sprintf(`"%d"`, f.revision) }

func (f *fake) currentToken() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pageToken
}

// stream sends what came after Last-Event-ID, and then what comes.
func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if !f.authorized(w, r) {
		f.mu.Unlock()
		return
	}
	var last uint64
	fmt.Sscan(r.Header.Get("Last-Event-ID"), &last)
	news := make(chan api.Event, 1000)
	f.watchers[news] = true
	for _, e := range f.events {
		if e.ID > last {
			news <- e
		}
	}
	f.mu.Unlock()
	defer f.with(func() { delete(f.watchers, news) })
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": hello\n\n")
	for {
		w.(http.Flusher).Flush()
		select {
		case e := <-news:
			b, _ := json.Marshal(e)
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, b)
		case <-r.Context().Done():
			return
		case <-f.done:
			return
		}
	}
}

// tell adds an event; with the mutex held.
func (f *fake) tell(e api.Event) {
	e.ID, e.Time = uint64(len(f.events)+1), time.Now()
	f.events = append(f.events, e)
	for news := range f.watchers {
		news <- e
	}
}

// die takes a backend down, as a probe would.
func (f *fake) die(service, backend, reason string) {
	f.with(func() {
		s := &f.services[slices.IndexFunc(f.services, func(s api.Service) bool { return s.Name == service })]
		b := &s.Backends[slices.IndexFunc(s.Backends, func(b api.Backend) bool { return b.Name == backend })]
		b.Health, b.Usable, b.Reason, b.Since = "down", false, reason, time.Now()
		s.Usable--
		f.tell(api.Event{Kind: "transition", Service: service, Backend: backend, Text: reason, From: "up", To: "down", Source: "probe"})
	})
}

// changes returns those that were asked for.
func (f *fake) changes() []change {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}
