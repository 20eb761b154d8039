package picker

import "math/rand/v2"

// tieBreaker tells whether the n-th equal candidate, from 2, takes the place of
// the one held so far.
type tieBreaker func(n int) bool

// randomTie leaves each of n equal candidates with a chance of 1/n (reservoir
// sampling). Always the first would send every session of an idle pool, and
// those of every instance at once, to the same backend.
func randomTie(n int) bool { return rand.IntN(n) == 0 }

// leastConn takes the backend with the least (load+1)/weight.
type leastConn struct {
	candidates []candidate
	tie        tieBreaker
	digest     uint64
}

func newLeastConn(backends []Backend, order []int, tie tieBreaker) *leastConn {
	return &leastConn{
		candidates: candidates(backends),
		tie:        tie,
		digest:     newDigester(LeastConn).backends(backends, order).sum(),
	}
}

func (p *leastConn) Pick(_ uint64, avoid *Set) int {
	best, ties := -1, 0
	var least cost
	for i, c := range p.candidates {
		if avoid.Has(i) {
			continue
		}
		now := c.cost()
		switch order := now.compare(least); {
		case best < 0 || order < 0:
			best, least, ties = i, now, 1
		case order == 0:
			if ties++; p.tie(ties) {
				best = i
			}
		}
	}
	return best
}

func (p *leastConn) Digest() uint64 { return p.digest }
