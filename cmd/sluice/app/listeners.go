package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4"
)

const passedPrefix = "fd:"

// listening is a listener of a service.
type listening struct {
	address string // as the file has it
	ln      net.Listener
	closed  atomic.Bool            // by us
	done    chan struct{}          // closed when nobody serves it any more
	lost    atomic.Pointer[string] // why it accepts nobody, though it is wanted; nil = it does
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

// warnOfUnused says which passed sockets no service listens on: their clients wait for ever. They
// stay open, as a reload may want them.
func (a *App) warnOfUnused() {
	if a.Passed == nil {
		return
	}
	wanted := make(map[string]bool)
	for _, s := range a.services {
		for _, address := range s.cfg.Listen {
			wanted[address] = true
		}
	}
	for _, name := range a.Passed.Names() {
		if !wanted[passedPrefix+name] {
			a.log.Warn("passed socket is not used", "name", name, "listen", passedPrefix+name)
		}
	}
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
		if l.address == address && l.lost.Load() == nil { // what is lost is opened again
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
			a.lose(s, l, err)
		}
	})
}

// lose says that a listener accepts no more, frees its address, and has it opened again.
func (a *App) lose(s *service, l *listening, err error) {
	address, reason := listenAddress(l.ln.Addr()), plain(err)
	a.log.Error("listener lost", "service", s.name, "address", address, "error", reason)
	a.events.add(Event{Kind: "lifecycle", Service: s.name, Text: "listener " + address + " lost: " + reason})
	l.lost.Store(&reason)
	l.ln.Close()
	a.serving.Go(func() {
		for wait := time.Second; ; wait = min(2*wait, longestRelisten) {
			select {
			case <-a.stop:
				return
			case <-time.After(wait):
			}
			if a.restore(s, l) {
				return
			}
		}
	})
}

// longestRelisten bounds the time between two attempts to open a lost listener again.
const longestRelisten = 30 * time.Second

// restore opens a lost listener again, where it was. It is done if it need not be tried again.
func (a *App) restore(s *service, l *listening) (done bool) {
	select {
	case a.changing <- struct{}{}:
		defer func() { <-a.changing }()
	case <-a.stop:
		return true
	}
	i := slices.Index(s.listening, l)
	if i < 0 {
		return true // somebody has changed the configuration since
	}
	address := l.address
	if strings.HasSuffix(address, ":0") {
		address = listenAddress(l.ln.Addr()) // the port that clients know
	}
	ln, err := l4.Listen(context.Background(), address)
	if err != nil {
		reason := plain(err)
		l.lost.Store(&reason)
		return false
	}
	again := newListening(l.address, ln)
	a.write(func() {
		s.listening = slices.Clone(s.listening)
		s.listening[i] = again
	})
	a.events.add(Event{Kind: "lifecycle", Service: s.name, Text: "listener " + listenAddress(ln.Addr()) + " opened again"})
	a.serve(s, again)
	return true
}

// lost says which of a service's listeners accept nobody, and why. With state held.
func (s *service) lost() (all []string) {
	for _, l := range s.listening {
		if why := l.lost.Load(); why != nil {
			all = append(all, listenAddress(l.ln.Addr())+": "+*why)
		}
	}
	return all
}

// listenAddress is an address as the file would name it.
func listenAddress(a net.Addr) string {
	if a.Network() == "unix" {
		return fmt.Sprintf("unix:%s", a)
	}
	return a.String()
}
