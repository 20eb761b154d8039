package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lastAnswers   = time.Second           // for requests that a killed backend has accepted
	bindPatience  = 2 * time.Second       // for a revived backend's port to be free again
	bindPause     = 20 * time.Millisecond // between two tries
	headerTimeout = 5 * time.Second       // for a request's header
)

var errKilled = errors.New("is killed: revive it first")

// Words for what was done to a backend.
const (
	stateWell   = "well"
	stateSick   = "sick"
	stateKilled = "killed"
)

// backend is an HTTP server that answers with its name. It can be killed and revived on
// one address for as long as the demo runs.
type backend struct {
	name    string
	address string
	sick    atomic.Bool // the health check is told so; requests are served all the same

	mu     sync.Mutex // guards the rest; held through a kill or revival
	ln     net.Listener
	server *http.Server   // nil while killed
	served chan struct{}  // closed when the server's goroutine has returned
	open   sync.WaitGroup // the server's connections
}

// newBackend starts a backend on ln.
func newBackend(name string, ln net.Listener) *backend {
	b := &backend{name: name, address: ln.Addr().String()}
	b.serve(ln)
	return b
}

func (b *backend) serve(ln net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", b.answer)
	mux.HandleFunc("GET /health", b.health)
	b.ln = ln
	b.server = &http.Server{
		Handler:           mux,
		ConnState:         b.count,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // what clients do wrong is no news here
	}
	// Each request comes over a connection of its own, so that reloading a page in a
	// browser shows the balancing too.
	b.server.SetKeepAlivesEnabled(false)
	b.served = make(chan struct{})
	go func() {
		defer close(b.served)
		b.server.Serve(ln) // returns when the listener is closed; there is no other way
	}()
}

// count keeps track of open connections. The server calls it with StateNew before it
// accepts the next one.
func (b *backend) count(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		b.open.Add(1)
	case http.StateClosed:
		b.open.Done()
	}
}

func (b *backend) answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, b.name)
}

func (b *backend) health(w http.ResponseWriter, _ *http.Request) {
	if b.sick.Load() {
		http.Error(w, stateSick, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, stateWell)
}

// kill closes the listener while calm is held, lets accepted requests finish, and closes
// what is left. It calls said as soon as dials are refused, before most can have met
// that, unless it was killed before.
func (b *backend) kill(calm sync.Locker, said func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return
	}
	calm.Lock()
	b.ln.Close()
	said()
	calm.Unlock()
	<-b.served
	b.finish()
	b.server = nil
}

// finish waits for the answers to what was accepted, and closes what is left after that.
// http.Server.Shutdown would not do: it drops requests that are still being read.
func (b *backend) finish() {
	answered := make(chan struct{})
	go func() {
		b.open.Wait()
		close(answered)
	}()
	late := time.NewTimer(lastAnswers)
	defer late.Stop()
	select {
	case <-answered:
	case <-late.C:
	}
	b.server.Close()
	<-answered
}

// revive starts a killed backend afresh, in good health; false if it was alive.
func (b *backend) revive(ctx context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bindPatience)
	defer cancel()
	for {
		ln, err := net.Listen("tcp", b.address)
		if err == nil {
			b.sick.Store(false)
			b.serve(ln)
			return true, nil
		}
		if !pause(ctx, bindPause) {
			return false, err
		}
	}
}

// setSick decides what the health check is told; false if it is told that already.
func (b *backend) setSick(sick bool) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.server == nil {
		return false, fmt.Errorf("%s %w", b.name, errKilled)
	}
	return b.sick.Swap(sick) != sick, nil
}

// state tells in one word what was done to the backend.
func (b *backend) state() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.server == nil:
		return stateKilled
	case b.sick.Load():
		return stateSick
	}
	return stateWell
}

// pause waits for d; false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
