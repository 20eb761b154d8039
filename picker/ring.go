package picker

import (
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

const (
	// defaultPoints per unit of weight: a share then differs from its due by
	// about 1/sqrt(256), 6 % of itself.
	defaultPoints = 256
	// ringBudget is the number of points RingPoints aims to stay within,
	// about 20 MiB.
	ringBudget = 1 << 20
	// maxPoints is where New refuses to build a ring, about 160 MiB.
	maxPoints = 1 << 23
)

// RingPoints returns the points per unit of weight that suit a whole set of
// weights: 256, or less where the ring would exceed 1,048,576 points in all, but
// at least 1. Zero and negative weights count nothing. A caller computes it over
// all configured backends, not only over those that are up, as the points of
// all change with it. A slightly different number moves only few keys, since a
// backend's points are a prefix of one sequence.
func RingPoints(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += min(max(w, 0), MaxWeight)
	}
	return min(max(ringBudget/max(sum, 1), 1), defaultPoints)
}

// ring is a consistent hash ring: a key belongs to the first point at or after
// it, going round at the end.
type ring struct {
	points []uint64 // ascending
	owners []uint32 // index of the backend of each point
	// starts[b] is the position of the first point whose top bits are at
	// least b. There are at least as many buckets as points, so a key finds
	// its point after about one step.
	starts []uint32
	shift  int // a key's bucket is key>>shift
	n      int // backends
	digest uint64
}

func newRing(backends []Backend, order []int, perWeight int) (*ring, error) {
	if perWeight <= 0 {
		perWeight = RingPoints(ringWeights(backends))
	}
	total := 0
	for _, b := range backends {
		// Divided, as the product may overflow.
		if perWeight > (maxPoints-total)/b.Weight {
			return nil, fmt.Errorf("%w: more than %d points at %d per unit of weight",
				ErrTooMany, maxPoints, perWeight)
		}
		total += perWeight * b.Weight
	}
	p := &ring{n: len(backends)}
	p.place(backends, order, perWeight, total)
	p.sort()
	d := newDigester(SourceHash).backends(backends, order)
	for k, rank := range p.owners {
		d.word(p.points[k])
		d.word(uint64(rank))
		p.owners[k] = uint32(order[rank])
	}
	p.digest = d.sum()
	return p, nil
}

func ringWeights(backends []Backend) []int {
	weights := make([]int, len(backends))
	for i, b := range backends {
		weights[i] = b.Weight
	}
	return weights
}

// place puts every point into its bucket by a counting sort over the top bits.
// Owners are ranks in order here, and points of one bucket stand in the order
// of the IDs.
func (p *ring) place(backends []Backend, order []int, perWeight, total int) {
	width := bits.Len(uint(total - 1))
	p.shift = 64 - width
	p.points = make([]uint64, total)
	p.owners = make([]uint32, total)
	// Counts stand two places up. Summed, starts[b+1] is where bucket b
	// begins, and filling moves it to where bucket b ends and b+1 begins.
	starts := make([]uint32, 1<<width+2)
	each := func(visit func(point uint64, rank int)) {
		for rank, i := range order {
			seed := xxhash.Sum64String(backends[i].ID)
			for k := range perWeight * backends[i].Weight {
				visit(point(seed, k), rank)
			}
		}
	}
	each(func(point uint64, _ int) { starts[point>>p.shift+2]++ })
	for b := 1; b < len(starts); b++ {
		starts[b] += starts[b-1]
	}
	each(func(point uint64, rank int) {
		at := &starts[point>>p.shift+1]
		p.points[*at], p.owners[*at] = point, uint32(rank)
		*at++
	})
	p.starts = starts
}

// sort finishes what place began. Insertion is enough, as a bucket holds about
// one point, and it is stable: equal points stay in the order of the IDs.
func (p *ring) sort() {
	for k := 1; k < len(p.points); k++ {
		point, owner := p.points[k], p.owners[k]
		j := k
		for ; j > 0 && p.points[j-1] > point; j-- {
			p.points[j], p.owners[j] = p.points[j-1], p.owners[j-1]
		}
		p.points[j], p.owners[j] = point, owner
	}
}

func (p *ring) Pick(key uint64, avoid *Set) int {
	at := p.find(key)
	if owner := int(p.owners[at]); !avoid.Has(owner) {
		return owner
	}
	if i, done := avoid.sole(p.n); done {
		return i
	}
	for range p.points {
		if at++; at == len(p.points) {
			at = 0
		}
		if owner := int(p.owners[at]); !avoid.Has(owner) {
			return owner
		}
	}
	return -1 // not reached: every backend has a point
}

// find returns the position of the first point at or after key.
func (p *ring) find(key uint64) int {
	at := int(p.starts[key>>p.shift])
	for at < len(p.points) && p.points[at] < key {
		at++
	}
	if at == len(p.points) {
		return 0
	}
	return at
}

func (p *ring) Digest() uint64 { return p.digest }
