package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errRefused = errors.New("connect: connection refused")

// proberFunc is a prober that is one function.
type proberFunc func(ctx context.Context) error

func (f proberFunc) Probe(ctx context.Context) error { return f(ctx) }

// script passes or fails by a function of the probe's number, from 1, and notes when each
// began.
type script struct {
	result func(n int) error
	mu     sync.Mutex
	starts []time.Time
}

func (s *script) Probe(context.Context) error {
	s.mu.Lock()
	s.starts = append(s.starts, time.Now())
	n := len(s.starts)
	s.mu.Unlock()
	return s.result(n)
}

func (s *script) began() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.starts)
}

// fakeGate is a pool's entry that writes down what it was told: "5s eject: reason".
type fakeGate struct {
	born time.Time

	mu         sync.Mutex
	lines      []string
	causes     []Cause
	ejected    bool
	lastUsable bool // refuse to eject
	asked      int  // calls of Eject
}

func newGate() *fakeGate { return &fakeGate{born: time.Now()} }

func (g *fakeGate) note(what string, c Cause) {
	g.lines = append(g.lines, fmt.Sprintf("%v %s: %s", c.At.Sub(g.born), what, c.Reason))
	g.causes = append(g.causes, c)
}

func (g *fakeGate) SetHealth(s State, c Cause) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(s.String(), c)
}

func (g *fakeGate) Eject(c Cause) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	if g.lastUsable {
		return false
	}
	if !g.ejected {
		g.ejected = true
		g.note("eject", c)
	}
	return true
}

func (g *fakeGate) Restore(c Cause) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ejected {
		return false
	}
	g.ejected = false
	g.note("restore", c)
	return true
}

// refuse makes the backend the last usable one, which lifts an ejection, or not.
func (g *fakeGate) refuse(last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lastUsable = last
	g.ejected = g.ejected && !last
}

func (g *fakeGate) told() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lines)
}

func (g *fakeGate) isEjected() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ejected
}

// expect compares what the gate was told so far.
func (g *fakeGate) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := g.told(); !slices.Equal(got, want) {
		t.Errorf("the gate was told\n%q, want\n%q", got, want)
	}
}

// config is a valid one with the defaults of the configuration file.
func config() Config {
	return Config{
		Interval: 2 * time.Second, Timeout: time.Second, Rise: 2, Fall: 3,
		Failures: 1, Eject: 5 * time.Second,
	}
}

func newMonitor(t *testing.T, cfg Config) *Monitor {
	t.Helper()
	m, err := NewMonitor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// pass lets d of a bubble's time pass, and all that is due by then happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// within fails the test if done is not closed soon; for waits in real time.
func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: still waiting", what)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
