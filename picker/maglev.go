package picker

import (
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

const (
	// maglevSize is the number of entries, the small table of the paper. It
	// must be prime, so that every step width visits every entry.
	maglevSize = 65537
	// maxMaglev backends each still get an entry, and their indexes fit into
	// 16 bits. Shares are even up to about 600, a hundredth of the table.
	maxMaglev = 1 << 16
)

// maglev is the lookup table of Eisenbud et al., "Maglev: a fast and reliable
// software network load balancer", 2016, section 3.4.
type maglev struct {
	table  []uint16 // index of the backend of each entry, maglevSize long
	n      int
	digest uint64
}

func newMaglev(backends []Backend, order []int) (*maglev, error) {
	if len(backends) > maxMaglev {
		return nil, fmt.Errorf("%w: %d, maglev takes %d", ErrTooMany, len(backends), maxMaglev)
	}
	p := &maglev{table: fillMaglev(backends, order), n: len(backends)}
	d := newDigester(Maglev).backends(backends, order)
	for k, rank := range p.table {
		d.word(uint64(rank))
		p.table[k] = uint16(order[rank])
	}
	p.digest = d.sum()
	return p, nil
}

// permutation is the order in which a backend asks for entries: at, at+skip,
// at+2*skip and so on, modulo maglevSize.
type permutation struct {
	at, skip uint32
	weight   uint32
	due      uint32 // what weight times the round has to reach for a turn
}

func permutations(backends []Backend, order []int) []permutation {
	perms := make([]permutation, len(order))
	for rank, i := range order {
		h := xxhash.Sum64String(backends[i].ID)
		// The paper's second hash function is the first one mixed again.
		perms[rank] = permutation{
			at:     uint32(h % maglevSize),
			skip:   uint32(mix64(h+golden)%(maglevSize-1)) + 1,
			weight: uint32(backends[i].Weight),
		}
	}
	return perms
}

// fillMaglev returns the rank in order for every entry. In each round the
// heaviest backends have a turn each, and a lighter one whenever its weight has
// added up to theirs, so equal weights differ by at most one entry. The first
// round has a turn for all: no backend is without an entry, however light.
func fillMaglev(backends []Backend, order []int) []uint16 {
	perms := permutations(backends, order)
	heaviest := uint32(0)
	for i := range perms {
		heaviest = max(heaviest, perms[i].weight)
	}
	table := make([]uint16, maglevSize)
	// The bitmap stays in the first-level cache; the table would not.
	taken := make([]uint64, maglevSize/64+1)
	filled := 0
	for round := uint32(1); ; round++ {
		for rank := range perms {
			p := &perms[rank]
			if round*p.weight < p.due {
				continue
			}
			p.due += heaviest
			table[p.claim(taken)] = uint16(rank)
			if filled++; filled == maglevSize {
				return table
			}
		}
	}
}

// claim takes the next entry of the permutation that is free. There is one as
// long as the table is not full, since a permutation visits every entry.
func (p *permutation) claim(taken []uint64) uint32 {
	at, skip := p.at, p.skip
	for taken[at>>6]&(1<<(at&63)) != 0 {
		at = step(at, skip)
	}
	taken[at>>6] |= 1 << (at & 63)
	p.at = step(at, skip)
	return at
}

// step is (at+skip) modulo maglevSize without a division.
func step(at, skip uint32) uint32 {
	if at += skip; at >= maglevSize {
		at -= maglevSize
	}
	return at
}

func (p *maglev) Pick(key uint64, avoid *Set) int {
	entry, _ := bits.Mul64(key, maglevSize) // key as a fraction of 2^64, times the size
	if owner := int(p.table[entry]); !avoid.Has(owner) {
		return owner
	}
	if i, done := avoid.sole(p.n); done {
		return i
	}
	// Neighbours in the table are unrelated, so the keys of an avoided backend
	// spread over all others.
	for range p.table {
		if entry++; entry == maglevSize {
			entry = 0
		}
		if owner := int(p.table[entry]); !avoid.Has(owner) {
			return owner
		}
	}
	return -1 // not reached: every backend has an entry
}

func (p *maglev) Digest() uint64 { return p.digest }
