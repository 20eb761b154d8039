package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/sluicelb/sluice/l4"
)

const passedPrefix = "fd:"

// listening is a listener of a service.
type listening struct {
	address string // as the file has it
	ln      net.Listener
	closed  atomic.Bool   // by us
	done    chan struct{} // closed when nobody serves it any more
}

func newListening(address string, ln net.Listener) *listening {
	return &listening{address: address, ln: ln, done: make(chan struct{})}
}

func (l *listening) close() {
	l.closed.Store(true)
	l.ln.Close()
}

// bind opens a service's listeners, and returns those that it has opened with an error too.
func (a *App) bind(ctx context.Context, s *service) (all []*listening, err error) {
	for _, address := range s.cfg.Listen {
		opened, err := a.open(ctx, address, nil)
		if err != nil {
			return all, fmt.Errorf("service %q: listen %s: %w", s.name, address, err)
		}
		for _, ln := range opened {
			all = append(all, newListening(address, ln))
		}
	}
	return all, nil
}

// open makes the listeners of an address, on the socket of given if there is one. A passed
// socket is open in this process anyway, and may be several of one name.
func (a *App) open(ctx context.Context, address string, given *listening) ([]net.Listener, error) {
	if name, passed := strings.CutPrefix(address, passedPrefix); passed {
		return a.openPassed(name)
	}
	if given != nil {
		if ln, err := l4.Again(given.ln); err == nil {
			return []net.Listener{ln}, nil
		}
	}
	ln, err := l4.Listen(ctx, address)
	if err != nil {
		return nil, err
	}
	return []net.Listener{ln}, nil
}

func (a *App) openPassed(name string) ([]net.Listener, error) {
	if a.Passed == nil {
		return nil, fmt.Errorf("no socket was passed to this process")
	}
	all, err := a.Passed.Listen(name)
	for i := range all {
		all[i] = l4.Adopt(all[i])
	}
	return all, err
}

// slot returns what a service listens with at the nth place where its file has an address:
// port 0 may be there more than once, and of a passed socket there may be several.
func (s *service) slot(address string, n int) (all []*listening) {
	for _, l := range s.listening {
		if l.address == address {
			all = append(all, l)
		}
	}
	switch {
	case n >= len(all):
		return nil
	case strings.HasPrefix(address, passedPrefix):
		return all
	}
	return all[n : n+1]
}

func (s *service) unbind() {
	for _, l := range s.listening {
		l.close()
	}
}

// serve accepts clients for a service until the listener is closed.
func (a *App) serve(s *service, l *listening) {
	a.log.Info("listening", "service", s.name, "address", listenAddress(l.ln.Addr()))
	a.serving.Go(func() {
		defer close(l.done)
		err := s.l4.Serve(l.ln)
		if !errors.Is(err, l4.ErrServiceClosed) && !l.closed.Load() {
			a.log.Error("listener lost", "service", s.name, "address", listenAddress(l.ln.Addr()), "error", err)
		}
	})
}

// listenAddress is an address as the file would name it.
func listenAddress(a net.Addr) string {
	if a.Network() == "unix" {
		return fmt.Sprintf("unix:%s", a)
	}
	return a.String()
}
