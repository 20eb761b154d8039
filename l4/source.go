package l4

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// sources counts sessions by client address. The zero value is ready to use.
type sources struct {
	mu sync.Mutex
	n  map[netip.Addr]int
}

// sourceOf returns what a client is counted under: its IPv4 address, or the /64 of
// its IPv6 address, which is what one subscriber usually has.
func sourceOf(a netip.Addr) netip.Addr {
	if a.Is4() {
		return a
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// enter counts one session more, unless that exceeds limit.
func (s *sources) enter(a netip.Addr, limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n[a] >= limit {
		return false
	}
	if s.n == nil {
		s.n = make(map[netip.Addr]int)
	}
	s.n[a]++
	return true
}

// leave undoes enter; the zero Addr was never counted.
func (s *sources) leave(a netip.Addr) {
	if !a.IsValid() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n[a]--; s.n[a] == 0 {
		delete(s.n, a)
	}
}

// throttle lets one event a second through and counts the others.
type throttle struct {
	next       atomic.Int64 // Unix nanoseconds from which the next one passes
	suppressed atomic.Int64
}

// allow tells whether the event passes, and how many did not since the last one.
func (t *throttle) allow(now time.Time) (suppressed int64, ok bool) {
	at := t.next.Load()
	if now.UnixNano() < at || !t.next.CompareAndSwap(at, now.Add(time.Second).UnixNano()) {
		t.suppressed.Add(1)
		return 0, false
	}
	return t.suppressed.Swap(0), true
}
