package picker

import "sync/atomic"

// candidate is what the policies that look at load need of a backend.
type candidate struct {
	load   *atomic.Int64
	weight int64
}

// candidates gives a backend without a counter one that stays 0, which keeps the
// test for nil out of every pick.
func candidates(backends []Backend) []candidate {
	none := new(atomic.Int64)
	cs := make([]candidate, len(backends))
	for i, b := range backends {
		cs[i] = candidate{load: b.Load, weight: int64(b.Weight)}
		if b.Load == nil {
			cs[i].load = none
		}
	}
	return cs
}

// cost is the load a backend would have with one more session, read once: it may
// change between two reads, and a comparison must not see both values.
type cost struct {
	sessions, weight int64
}

func (c candidate) cost() cost {
	return cost{sessions: c.load.Load() + 1, weight: c.weight}
}

// compare is negative when c is the lower cost, 0 for equal ones. It multiplies
// crosswise instead of dividing and so is exact below 2^54 sessions.
func (c cost) compare(d cost) int64 {
	return c.sessions*d.weight - d.sessions*c.weight
}
