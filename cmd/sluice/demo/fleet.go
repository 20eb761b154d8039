package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

var (
	errNoBackend = errors.New("no such backend")
	errNoVerb    = errors.New("no such order")
)

// What can be done to a backend.
const (
	verbKill   = "kill"
	verbRevive = "revive"
	verbSick   = "sick"
	verbWell   = "well"
)

// verbs returns all orders.
func verbs() []string { return []string{verbKill, verbRevive, verbSick, verbWell} }

// names returns the backends' names.
func names() []string { return []string{"alice", "bob", "carol"} }

// fleet is the demo's backends.
type fleet struct {
	backends []*backend
	// calm is held for reading through each request of the built-in client, and for
	// writing in the instant of a kill; see the package's documentation.
	calm sync.RWMutex
	say  func(by, what string) // hears of every order that changed something
}

// newFleet starts the backends on the ports after the balancer's, all or none.
func newFleet(port int, say func(by, what string)) (*fleet, error) {
	f := &fleet{say: say}
	for i, name := range names() {
		ln, err := listenNear(port + 1 + i)
		if err != nil {
			f.close()
			return nil, fmt.Errorf("backend %s: %w", name, err)
		}
		f.backends = append(f.backends, newBackend(name, ln))
	}
	return f, nil
}

// order does something to a backend and returns the state it is in then. Doing what is
// done already is no error.
func (f *fleet) order(ctx context.Context, by, verb, name string) (state string, err error) {
	b := f.find(name)
	if b == nil {
		return "", fmt.Errorf("%w: %q; there are %s", errNoBackend, name, strings.Join(names(), ", "))
	}
	var changed bool
	switch verb {
	case verbKill:
		b.kill(&f.calm, func() { f.say(by, verb+" "+name) })
	case verbRevive:
		changed, err = b.revive(ctx)
	case verbSick:
		changed, err = b.setSick(true)
	case verbWell:
		changed, err = b.setSick(false)
	default:
		err = fmt.Errorf("%w: %q; there are %s", errNoVerb, verb, strings.Join(verbs(), ", "))
	}
	if changed {
		f.say(by, verb+" "+name)
	}
	return b.state(), err
}

func (f *fleet) find(name string) *backend {
	for _, b := range f.backends {
		if b.name == name {
			return b
		}
	}
	return nil
}

// close ends all backends, at the same time since each may wait for its last answers.
func (f *fleet) close() {
	var all sync.WaitGroup
	for _, b := range f.backends {
		all.Go(func() { b.kill(&f.calm, func() {}) })
	}
	all.Wait()
}
