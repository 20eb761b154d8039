package app

import (
	"context"
	"fmt"
	"net"
	"slices"
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

// bind opens those of a service's listeners that it has not got yet. Sockets in given, by
// address, are open already and are shared; they stay open.
func (a *App) bind(ctx context.Context, s *service, given map[string]*listening) error {
	for _, address := range s.cfg.Listen {
		if s.listensOn(address) {
			continue
		}
		all, err := a.open(ctx, address, given[address])
		if err != nil {
			return fmt.Errorf("service %q: listen %s: %w", s.name, address, err)
		}
		for _, ln := range all {
			s.listening = append(s.listening, &listening{address: address, ln: ln})
		}
	}
	return nil
}

// open makes the listeners of an address; those of a socket that was passed may be several.
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

func (s *service) listensOn(address string) bool {
	return slices.ContainsFunc(s.listening, func(l *listening) bool { return l.address == address })
}

func (s *service) unbind() {
	for _, l := range s.listening {
		l.close()
	}
}
