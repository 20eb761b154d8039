package admin

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// endpoint is one method of one path of the API.
type endpoint struct {
	method string
	path   string   // below prefix, in the notation of http.ServeMux
	query  []string // the parameters that it takes
	body   body

	// do returns what is answered as JSON with status 200, or an answer.
	do func(q *request) (any, error)
}

// answer is one that is not JSON with status 200. Its error is answered if it has written
// nothing yet.
type answer func(w http.ResponseWriter) error

const prefix = "/api/v1/"

const (
	servicePath = "services/{service}"
	backendPath = servicePath + "/backends/{backend}"
)

// endpoints is all of the API. docs/api.md has the same list; a test compares them.
func (s *Server) endpoints() []endpoint {
	return []endpoint{
		{method: "GET", path: "status", do: s.getStatus},
		{method: "GET", path: "services", do: s.getServices},
		{method: "GET", path: servicePath, do: s.getService},
		{method: "GET", path: servicePath + "/backends", do: s.getBackends},
		{method: "GET", path: backendPath, do: s.getBackend},
		{method: "GET", path: backendPath + "/explain", query: []string{"at"}, do: s.explain},
		{method: "GET", path: servicePath + "/pick", query: []string{"source"}, do: s.pick},
		{method: "GET", path: "sessions", query: []string{"service", "backend", "client", "min_age", "sort", "limit"}, do: s.getSessions},
		{method: "GET", path: "failures", query: []string{"service", "limit"}, do: s.getFailures},
		{method: "GET", path: "events", query: []string{"since", "service"}, do: s.getEvents},
		{method: "GET", path: "events/stream", query: []string{"since", "service"}, do: s.streamEvents},
		{method: "GET", path: "config", do: s.getConfig},

		{method: "PUT", path: backendPath + "/admin", body: jsonBody, do: s.setAdmin},
		{method: "PUT", path: backendPath + "/weight", body: jsonBody, do: s.setWeight},
		{method: "PATCH", path: backendPath, body: jsonBody, do: s.set},
		{method: "POST", path: servicePath + "/backends", body: jsonBody, do: s.add},
		{method: "DELETE", path: backendPath, query: []string{"within"}, do: s.remove},
		{method: "POST", path: backendPath + "/kill", do: s.killBackend},
		{method: "POST", path: servicePath + "/pause", body: jsonBody, do: s.pause},
		{method: "POST", path: servicePath + "/resume", do: s.resume},
		{method: "POST", path: "sessions/kill", body: jsonBody, do: s.kill},
		{method: "POST", path: "reload", do: s.reload},
		{method: "POST", path: "plan", query: []string{"name"}, body: fileBody, do: s.plan},
	}
}

// routes ties each path to its handler and its guard. Patterns have no method: ServeMux
// would answer the others by itself, in plain text.
func (s *Server) routes() *http.ServeMux {
	byPath := map[string]map[string]http.HandlerFunc{}
	for _, e := range s.endpoints() {
		if byPath[e.path] == nil {
			byPath[e.path] = map[string]http.HandlerFunc{}
		}
		byPath[e.path][e.method] = s.call(&e)
	}
	mux := http.NewServeMux()
	for path, methods := range byPath {
		mux.HandleFunc(prefix+path, s.private(s.tagged(s.dispatch(methods))))
	}
	unknown := func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, notFound(r)) }
	mux.HandleFunc(prefix, s.private(s.tagged(unknown)))
	mux.HandleFunc("/api/", s.private(unknown))
	mux.HandleFunc("/api", s.private(unknown)) // else ServeMux would redirect it
	mux.HandleFunc("/api/v1", s.private(unknown))

	get := func(h http.HandlerFunc) http.HandlerFunc {
		return s.dispatch(map[string]http.HandlerFunc{http.MethodGet: h})
	}
	mux.HandleFunc("/healthz", get(s.healthz))
	mux.HandleFunc("/readyz", get(s.readyz))
	metrics, page := http.HandlerFunc(unknown), http.HandlerFunc(unknown)
	if s.cfg.Metrics != nil {
		metrics = get(s.cfg.Metrics.ServeHTTP)
	}
	if s.cfg.Page != nil {
		page = get(s.static)
	}
	mux.HandleFunc("/metrics", s.private(metrics))
	mux.HandleFunc("/", page)
	return mux
}

// call answers what an endpoint is asked. Of plans there are few at one time, counted before
// their bodies are read: those are what takes memory.
func (s *Server) call(e *endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if e.body == fileBody {
			select {
			case s.plans <- struct{}{}:
				defer func() { <-s.plans }()
			default:
				s.fail(w, r, refused(api.CodeBusy, "%d plans are being made already; try again", cap(s.plans)))
				return
			}
		}
		var v any
		var made uint64
		q, err := e.understand(w, r)
		if err == nil {
			q.mark.Made = &made
			v, err = e.do(q)
		}
		if made != 0 {
			w.Header().Set("ETag", etag(made))
		}
		if write, ok := v.(answer); ok && err == nil {
			if err = write(w); err == nil {
				return
			}
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	}
}

// tag sets the revision, before a request is answered: so the tag is never newer than what the
// client has seen. A change that was made is tagged with its own.
func (s *Server) tag(w http.ResponseWriter) {
	w.Header().Set("ETag", etag(s.cfg.Control.Revision()))
}

// tagged tags errors too: whoever is told that a backend is not there may act on it.
func (s *Server) tagged(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.tag(w)
		h(w, r)
	}
}

// dispatch chooses by method. HEAD is GET without the body, which net/http leaves out.
func (s *Server) dispatch(methods map[string]http.HandlerFunc) http.HandlerFunc {
	methods = maps.Clone(methods)
	if get, ok := methods[http.MethodGet]; ok {
		methods[http.MethodHead] = get
	}
	allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		h, ok := methods[r.Method]
		if !ok {
			w.Header().Set("Allow", allow)
			s.fail(w, r, refused(api.CodeMethod, "method %s: want %s", clip(r.Method), allow))
			return
		}
		h(w, r)
	}
}

// static serves the page, which may be kept. The policy for its contents is the page's own to
// set; until it does, nothing is allowed.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("Cache-Control")
	s.cfg.Page.ServeHTTP(w, r)
}
