package l4

import (
	"slices"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Stats are a service's counters at one instant. None but Active and Held ever falls.
type Stats struct {
	Active int64            // sessions now
	Held   int64            // of them those that wait for a backend
	Paused time.Duration    // for how much longer the service is paused; 0 = it is not
	Ended  map[string]int64 // clients by how they ended, those turned away included; relay.Why's names
}

// BackendStats are a backend's state and counters at one instant.
type BackendStats struct {
	Name, Address  string
	Weight         int
	Priority       int
	MaxConnections int // 0 = no limit
	Health         Health
	Admin          Admin
	State          string // all of it in one word, as transitions have it
	Leaving        bool   // removed from the pool, with sessions still
	Ejected        bool
	Usable         bool
	Reason         string    // of the last change of state
	Since          time.Time // of the last change of state
	Sessions       int64     // now, dials included
	Total          int64     // connected since the start
	Retries        int64     // dials to it after, or beside, another
	Replays        int64     // sessions whose first words it got after another
	DialFailures   map[string]int64
	Moved          [2]int64 // payload bytes by relay.Direction, of live sessions too
}

// Stats returns the service's counters.
func (s *Service) Stats() Stats {
	st := Stats{Active: s.active.Load(), Held: int64(s.room.n.Load()), Ended: make(map[string]int64)}
	if until := s.pausedUntil(); until != 0 {
		st.Paused = max(until-s.now(), 1)
	}
	for _, why := range relay.Whys() {
		if n := s.ended[why].Load(); n > 0 {
			st.Ended[why.String()] = n
		}
	}
	return st
}

// Backends returns the state of every backend, in the order they were added, and then of
// those that were removed and still have sessions.
func (s *Service) Backends() []BackendStats {
	s.counting.Lock()
	defer s.counting.Unlock()
	live := s.liveMoved()
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]BackendStats, 0, len(p.backends))
	for _, b := range slices.Concat(p.backends, p.left()) {
		st := b.stats()
		st.Moved = b.shown(live[b])
		all = append(all, st)
	}
	return all
}

// liveMoved sums each backend's payload of ended sessions, and then of those that live. One
// that ends in between is missed: see shown.
func (s *Service) liveMoved() map[*Backend][2]int64 {
	s.pool.mu.Lock()
	sums := make(map[*Backend][2]int64, len(s.pool.backends))
	for _, b := range slices.Concat(s.pool.backends, s.pool.leaving) {
		sums[b] = [2]int64{b.moved[0].Load(), b.moved[1].Load()}
	}
	s.pool.mu.Unlock()
	s.walk(func(sess *Session) {
		if b := sess.relaying(); b != nil {
			sum := sums[b]
			for d := range sum {
				sum[d] += sess.relay.Moved(relay.Direction(d))
			}
			sums[b] = sum
		}
	})
	return sums
}

// shown returns a sum of b's payload that never falls: what was missed of one is in the
// next. It is exact when nothing moves. With the service's counting held.
func (b *Backend) shown(sum [2]int64) [2]int64 {
	for d := range sum {
		b.reported[d] = max(b.reported[d], sum[d])
	}
	return b.reported
}

// Count returns how many backends the pool has, and how many of them are usable.
func (p *Pool) Count() (all, usable int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.backends), p.usable
}

// Sessions returns how many sessions b has, dials included.
func (b *Backend) Sessions() int64 { return b.active.Load() }

// relaying returns the backend of a session that the relay has, else nil.
func (sess *Session) relaying() *Backend {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.relayed == 0 {
		return nil
	}
	return sess.backend
}

// stats reads b; with the pool's mutex held.
func (b *Backend) stats() BackendStats {
	st := BackendStats{
		Name: b.cfg.Name, Address: b.cfg.Address, Weight: b.cfg.Weight, Priority: b.cfg.Priority,
		MaxConnections: b.cfg.MaxConnections, Admin: b.admin, State: b.status(), Leaving: b.removed,
		Health: b.health, Ejected: b.ejected, Usable: b.usable(), Reason: b.why().reason, Since: b.why().since,
		Sessions: b.active.Load(), Total: b.total.Load(), Retries: b.retries.Load(), Replays: b.replays.Load(),
		DialFailures: make(map[string]int64),
	}
	for i := range b.failed {
		if n := b.failed[i].Load(); n > 0 {
			st.DialFailures[dialFailure(i).String()] = n
		}
	}
	return st
}
