package l4

import (
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Health is a backend's operational state, as probes tell it.
type Health uint8

// The states. An unknown backend is used only while no other of its priority is up.
const (
	Unknown Health = iota
	Up
	Down
)

var healthNames = [...]string{"unknown", "up", "down"}

func (h Health) String() string { return healthNames[h] }

// Admin is a backend's administrative state, as people set it.
type Admin uint8

// The states. Sessions that a backend has are left alone in each.
const (
	Ready Admin = iota // it may have sessions
	Drain              // it gets no new ones
	Maint              // likewise, and nobody probes it: its health is unknown
)

var adminNames = [...]string{"ready", "drain", "maint"}

func (a Admin) String() string { return adminNames[a] }

// Observer hears what sessions learn of a backend. Its methods are called on the
// path of every session, with some engines by the goroutine that drives many others, and
// must not wait. They may change the pool.
type Observer interface {
	DialOK(began time.Time)                    // a dial succeeded
	DialFailed(began time.Time, reason string) // one failed, by the backend's fault as far as can be told
	Answered()                                 // a session brought at least one byte from it
	EndedAtOnce()                              // it ended a fresh session without a byte
}

// Backend is one member of a Pool: an identity that never changes, and counters that
// live as long as it does.
type Backend struct {
	cfg              BackendConfig
	network, address string
	direct           *relay.Address // nil if the address has to be looked up
	observer         atomic.Pointer[Observer]

	barred atomic.Bool  // no session may begin on it, whatever view it was chosen from
	fallen atomic.Bool  // that is by its probes, in a strict pool
	limit  atomic.Int64 // sessions at one time; 0 = none

	active  atomic.Int64 // sessions that hold it, dials included
	total   atomic.Int64 // sessions that were connected to it
	retries atomic.Int64 // dials to it after, or beside, another
	falls   atomic.Int64 // dials that failed by its fault, and times that probes called it down or up again
	replays atomic.Int64 // sessions whose first words it got after another
	failed  [numDialFailures]atomic.Int64
	moved   [2]atomic.Int64 // payload of ended sessions, by relay.Direction

	reported [2]int64 // the newest sums of payload that were told; guarded by the service's counting

	// Guarded by the pool's mutex, as are the weight and the priority of cfg.
	health      Health
	admin       Admin
	unsure      bool // its probes call it down, though it may well be working
	removed     bool
	removals    uint64 // times that it was
	ejected     bool
	outvoted    bool      // in a pool with one writer: it is another, or none
	conflicting bool      // outvoted, though it is up
	pending     bool      // likewise, but nobody is elected before all have been heard
	joins       bool      // it joined others, and its weight is to climb once it is up
	risen       time.Time // since when its weight climbs; zero = it does not
	// the newest change of health, of ejected, and of admin
	probed, dialled, ordered note
}

// note is why something changed, and when.
type note struct {
	reason string
	since  time.Time
}

// why returns the note on what keeps b out of use, or else the newest. With the pool's
// mutex held.
func (b *Backend) why() note {
	if b.admin != Ready || b.removed {
		return b.ordered
	}
	if b.health == Down {
		return b.probed
	}
	if b.ejected {
		return b.dialled
	}
	newest := b.probed
	for _, n := range []note{b.dialled, b.ordered} {
		if n.since.After(newest.since) {
			newest = n
		}
	}
	return newest
}

// Name returns the backend's name, unique in its pool.
func (b *Backend) Name() string { return b.cfg.Name }

// Address returns the address as configured: host:port or unix:/path.
func (b *Backend) Address() string { return b.cfg.Address }

// Observe makes o hear of the backend's dials and sessions from now on.
func (b *Backend) Observe(o Observer) { b.observer.Store(&o) }

// hear returns the observer, one that does nothing if there is none.
func (b *Backend) hear() Observer {
	if o := b.observer.Load(); o != nil {
		return *o
	}
	return deaf{}
}

type deaf struct{}

func (deaf) DialOK(time.Time)             {}
func (deaf) DialFailed(time.Time, string) {}
func (deaf) Answered()                    {}
func (deaf) EndedAtOnce()                 {}

// take reserves a session on b; false if b is full.
func (b *Backend) take() bool { return reserve(&b.active, int(b.limit.Load())) }

func (b *Backend) give() { b.active.Add(-1) }

// reserve adds one to n unless that exceeds limit; a limit of zero is none.
func reserve(n *atomic.Int64, limit int) bool {
	if limit == 0 {
		n.Add(1)
		return true
	}
	for {
		now := n.Load()
		if now >= int64(limit) {
			return false
		}
		if n.CompareAndSwap(now, now+1) {
			return true
		}
	}
}

// add counts what a session moved, at its end.
func (b *Backend) add(s *relay.Session) {
	for d := range b.moved {
		b.moved[d].Add(s.Moved(relay.Direction(d)))
	}
}
