package admin

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// recorder remembers what has been sent.
type recorder struct {
	http.ResponseWriter
	status int // 0 = no header yet
	bytes  int64
}

// WriteHeader sends the header.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends the header too, if that is to come yet.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serveHTTP is what every request passes.
func (s *Server) serveHTTP(rw http.ResponseWriter, r *http.Request) {
	if !s.enter(r) {
		panic(http.ErrAbortHandler) // closes the connection, silently
	}
	defer s.handlers.Done()
	w, start := &recorder{ResponseWriter: rw}, time.Now()
	defer func() { s.finish(w, r, start, recover()) }()

	if r.ContentLength != 0 {
		http.NewResponseController(rw).SetReadDeadline(start.Add(bodyTimeout))
	}
	secure(w.Header())
	err := s.checkHost(r)
	if err == nil {
		err = checkPath(r)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// secure sets what keeps browsers from guessing, framing, telling others and keeping. None
// of it lets another origin in, and no header ever does.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// finish turns a panic into an answer, or cuts an answer that has begun.
func (s *Server) finish(w *recorder, r *http.Request, start time.Time, panicked any) {
	if panicked != nil && panicked != http.ErrAbortHandler {
		s.cfg.Log.Error("admin handler panicked", "method", r.Method, "path", r.URL.Path, "panic", panicked, "stack", string(debug.Stack()))
		if w.status == 0 {
			s.fail(w, r, refused(api.CodeInternal, "a failure of sluice itself; its log has more"))
			panicked = nil
		}
	}
	if s.cfg.Log.Enabled(context.Background(), slog.LevelDebug) {
		s.cfg.Log.Debug("admin request", "method", r.Method, "path", r.URL.Path, "client", r.RemoteAddr,
			"status", w.status, "bytes", w.bytes, "duration", time.Since(start))
	}
	if panicked != nil {
		panic(http.ErrAbortHandler)
	}
}
