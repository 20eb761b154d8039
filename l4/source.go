package l4

import (
	"net/netip"
	"sync"
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

// leave undoes enter.
func (s *sources) leave(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n[a]--; s.n[a] == 0 {
		delete(s.n, a)
	}
}
