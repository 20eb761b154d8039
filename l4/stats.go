package l4

import (
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Stats are a service's counters at one instant. None but Active and Held ever falls.
type Stats struct {
	Active int64            // sessions now
	Held   int64            // of them those that wait for a backend
	Ended  map[string]int64 // clients by how they ended, those turned away included; relay.Why's names
}

// BackendStats are a backend's state and counters at one instant.
type BackendStats struct {
	Name, Address string
	Weight        int
	Priority      int
	Health        Health
	Ejected       bool
	Usable        bool
	Reason        string    // of the last change of state
	Since         time.Time // of the last change of state
	Sessions      int64     // now, dials included
	Total         int64     // connected since the start
	Retries       int64     // dials to it after, or beside, another
	Replays       int64     // sessions whose first words it got after another
	DialFailures  map[string]int64
	Moved         [2]int64 // payload bytes by relay.Direction, of live sessions too
}

// Stats returns the service's counters.
func (s *Service) Stats() Stats {
	st := Stats{Active: s.active.Load(), Held: int64(s.room.n.Load()), Ended: make(map[string]int64)}
	for _, why := range relay.Whys() {
		if n := s.ended[why].Load(); n > 0 {
			st.Ended[why.String()] = n
		}
	}
	return st
}

// Backends returns the state of every backend, in the order they were added.
func (s *Service) Backends() []BackendStats {
	moved := s.moved()
	p := s.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]BackendStats, len(p.backends))
	for i, b := range p.backends {
		all[i] = b.stats()
		all[i].Moved = moved[b]
	}
	return all
}

// moved sums each backend's payload. A session is counted either as live or as
// ended, so that no sum ever falls.
func (s *Service) moved() map[*Backend][2]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := make(map[*Backend][2]int64)
	for sess := range s.sessions.all {
		if b := sess.relaying(); b != nil {
			sum := sums[b]
			for d := range sum {
				sum[d] += sess.relay.Moved(relay.Direction(d))
			}
			sums[b] = sum
		}
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, b := range s.pool.backends {
		sum := sums[b]
		for d := range sum {
			sum[d] += b.moved[d].Load()
		}
		sums[b] = sum
	}
	return sums
}

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
