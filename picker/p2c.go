package picker

import "math/rand/v2"

// p2c draws two distinct backends at random and takes the one with the lesser
// (load+1)/weight (Mitzenmacher, "The power of two choices in randomized load
// balancing", 2001). It reads two counters however many backends there are, and
// instances that do not see each other's sessions do not all run to the same one.
type p2c struct {
	candidates []candidate
	digest     uint64
}

func newP2C(backends []Backend, order []int) *p2c {
	return &p2c{
		candidates: candidates(backends),
		digest:     newDigester(P2C).backends(backends, order).sum(),
	}
}

func (p *p2c) Pick(_ uint64, avoid *Set) int {
	n := avoid.free(len(p.candidates))
	if n == 0 {
		return -1
	}
	if n == 1 {
		return avoid.nthFree(0)
	}
	// Ranks among the backends that may be taken, so that no draw is wasted.
	a, b := rand.IntN(n), rand.IntN(n-1)
	if b >= a {
		b++
	}
	i, j := avoid.nthFree(a), avoid.nthFree(b)
	// The first of the two is uniform already, so it may win every tie.
	if p.candidates[j].cost().compare(p.candidates[i].cost()) < 0 {
		return j
	}
	return i
}

func (p *p2c) Digest() uint64 { return p.digest }
