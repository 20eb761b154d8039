package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
)

// control is the switch: an HTTP endpoint that breaks and mends backends.
type control struct {
	address string
	server  *http.Server
	served  chan struct{}
}

func newControl(port int, f *fleet) (*control, error) {
	ln, err := listenNear(port + controlOffset)
	if err != nil {
		return nil, fmt.Errorf("control endpoint: %w", err)
	}
	c := &control{address: ln.Addr().String(), served: make(chan struct{})}
	c.server = &http.Server{
		Handler:           controlHandler(f),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(c.served)
		c.server.Serve(ln) // ends with close
	}()
	return c, nil
}

// close lets orders that are under way finish: they end by themselves within the time
// of a kill.
func (c *control) close() {
	ctx, cancel := context.WithTimeout(context.Background(), bindPatience)
	defer cancel()
	c.server.Shutdown(ctx)
	c.server.Close()
	<-c.served
}

// controlHandler serves the orders to programs of this machine only. The browser is one
// of them, so neither a page of another site may press (cross-origin), nor one whose name
// was made to resolve to loopback (DNS rebinding: its Host header is not loopback).
func controlHandler(f *fleet) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		for _, b := range f.backends {
			fmt.Fprintf(w, "%-6s http://%s %s\n", b.name, b.address, b.state())
		}
	})
	for _, verb := range verbs() {
		mux.HandleFunc("POST /"+verb+"/{backend}", func(w http.ResponseWriter, r *http.Request) {
			name := r.PathValue("backend")
			state, err := f.order(r.Context(), "you", verb, name)
			if err != nil {
				http.Error(w, err.Error(), statusOf(err))
				return
			}
			fmt.Fprintln(w, name, state)
		})
	}
	return onlyLoopback(http.NewCrossOriginProtection().Handler(mux))
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoBackend):
		return http.StatusNotFound
	case errors.Is(err, errKilled):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "only under a loopback name", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback tells whether a Host header names this machine by something that no name
// server can decide.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
