package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// healthzWithin is how long what serves clients may take to come round.
const healthzWithin = 2 * time.Second

// healthz tells that requests are answered and that what serves clients turns; no more, so
// that a supervisor does not restart a balancer for what its backends do.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthzWithin)
	defer cancel()
	if err := s.cfg.Control.Turns(ctx); err != nil {
		s.fail(w, r, refused(api.CodeBusy, "not turning: %s", err))
		return
	}
	ok(w)
}

func ok(w http.ResponseWriter) {
	write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
}

// readyz tells whether clients should be sent here. With ?usable, a service whose backends
// are all out counts too: for a balancer of balancers that has another one to send them to.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if ready, why := s.cfg.Control.Ready(); !ready {
		s.fail(w, r, refused(api.CodeBusy, "not ready: %s", why))
		return
	}
	if r.URL.Query().Has("usable") {
		if without := s.withoutBackend(); len(without) > 0 {
			s.fail(w, r, refused(api.CodeBusy, "not ready: no usable backend in %s", strings.Join(without, ", ")))
			return
		}
	}
	ok(w)
}

// withoutBackend returns the services that can serve nobody.
func (s *Server) withoutBackend() (names []string) {
	for _, service := range s.cfg.Control.Services() {
		if service.Usable == 0 && !service.Leaving {
			names = append(names, service.Name)
		}
	}
	return names
}
