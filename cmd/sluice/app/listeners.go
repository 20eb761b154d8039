package app

import (
	"context"
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
	closed  atomic.Bool // by us
}

func (l *listening) close() {
	l.closed.Store(true)
	l.ln.Close()
}

// bind opens a service's listeners.
func (a *App) bind(ctx context.Context, s *service) error {
	for _, address := range s.cfg.Listen {
		all, err := a.open(ctx, address, nil)
		if err != nil {
			return fmt.Errorf("service %q: listen %s: %w", s.name, address, err)
		}
		for _, ln := range all {
			s.listening = append(s.listening, &listening{address: address, ln: ln})
		}
	}
	return nil
}

// open makes the listeners of an address, on the socket of given if there is one; those of a socket that was passed may be several.
func (a *App) open(ctx context.Context, address string, given *listening) ([]net.Listener, error) {
	if given != nil {
		if ln, err := l4.Again(given.ln); err == nil {
			return []net.Listener{ln}, nil
		}
	}
	if name, passed := strings.CutPrefix(address, passedPrefix); passed {
		return a.openPassed(name)
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

// on returns a service's listeners of an address; the file may have port 0 more than once.
func (s *service) on(address string) (all []*listening) {
	for _, l := range s.listening {
		if l.address == address {
			all = append(all, l)
		}
	}
	return all
}

func (s *service) unbind() {
	for _, l := range s.listening {
		l.close()
	}
}
