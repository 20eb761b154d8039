package health

import (
	"context"
	"sync"
)

// Monitor watches the backends of one service, all by the same [Config].
// Its methods may be called from any goroutine.
type Monitor struct {
	cfg Config

	// mu is never held together with a member's lock.
	mu      sync.Mutex
	members map[*Member]struct{}
	closed  bool
}

// round is one caller of Settled waiting for the members that were there before it.
type round struct {
	left int
	done chan struct{}
}

// NewMonitor returns a monitor without members, or an error that wraps [ErrConfig].
func NewMonitor(cfg Config) (*Monitor, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Monitor{cfg: cfg, members: make(map[*Member]struct{})}, nil
}

// Add watches one more backend: p is how it is probed, from now on, and g is where the
// verdicts go. With p nil there is no active check, and its state stays Unknown. The
// caller ends it with [Member.Stop], or all of them with Close. After Close the member
// comes stopped: it never calls g.
func (m *Monitor) Add(p Prober, g Gate) *Member { return m.Resume(p, g, Unknown) }

// Resume is Add for a backend whose state is known already, from a monitor with other
// settings: it takes as many results against that state as for one that has been watched
// all the time, where Add has the first result decide.
func (m *Monitor) Resume(p Prober, g Gate, s State) *Member {
	ctx, cancel := context.WithCancel(context.Background())
	b := &Member{mon: m, prober: p, gate: g, cancel: cancel, done: make(chan struct{})}
	b.streak.state = s

	m.mu.Lock()
	defer m.mu.Unlock()
	if b.stopped = m.closed; !b.stopped {
		m.members[b] = struct{}{}
	}
	if b.stopped || p == nil {
		b.settled = true
		cancel()
		close(b.done)
		return b
	}
	go b.run(ctx)
	return b
}

// Settled returns a channel that is closed as soon as every member added before this call
// has ended its first probe and told its gate, whatever the result, or was stopped. Those
// added later do not delay it, and those without a prober are settled from the start; so
// without members to wait for, the channel comes closed.
func (m *Monitor) Settled() <-chan struct{} {
	r := &round{done: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	for b := range m.members {
		if !b.settled {
			b.rounds = append(b.rounds, r)
			r.left++
		}
	}
	if r.left == 0 {
		close(r.done)
	}
	return r.done
}

// settle notes that b has ended its first probe, or will never have one.
func (m *Monitor) settle(b *Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.settled = true
	for _, r := range b.rounds {
		if r.left--; r.left == 0 {
			close(r.done)
		}
	}
	b.rounds = nil
}

// Close stops all members and waits for their goroutines. After it no gate is called. It
// may be called again, and from several goroutines: each call waits.
func (m *Monitor) Close() {
	m.mu.Lock()
	m.closed = true
	members := make([]*Member, 0, len(m.members))
	for b := range m.members {
		members = append(members, b)
	}
	m.mu.Unlock()

	// All are told before one is waited for: the slowest probe is the whole wait.
	for _, b := range members {
		b.halt()
	}
	for _, b := range members {
		b.Stop()
	}
}

// forget drops a stopped member.
func (m *Monitor) forget(b *Member) {
	m.mu.Lock()
	delete(m.members, b)
	m.mu.Unlock()
	m.settle(b)
}
