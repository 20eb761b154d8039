package picker

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// randomTries bounds the draws from the table when some backends are avoided.
// With half of the weight avoided 15 of 16 picks end there.
const randomTries = 4

// random draws in proportion to the weights from an alias table (Walker 1977,
// built as by Vose 1991): one draw chooses a column and, within it, between the
// column's own backend and the one that fills it up.
type random struct {
	columns []column
	weights []uint16
	digest  uint64
}

// column is one of n equal slices of the whole. Own and alias are indexes of
// backends; a fraction of 2^64 below split belongs to own.
type column struct {
	split      uint64
	own, alias uint32
}

func newRandom(backends []Backend, order []int) *random {
	weights := weightsOf(backends)
	return &random{
		columns: aliasTable(weights),
		weights: weights,
		digest:  newDigester(Random).backends(backends, order).sum(),
	}
}

// aliasTable works in integers: scaled by n, every column holds exactly the sum
// of the weights, and no rounding builds up from column to column.
func aliasTable(weights []uint16) []column {
	n, sum := uint64(len(weights)), uint64(0)
	for _, w := range weights {
		sum += uint64(w)
	}
	columns := make([]column, n)
	left := make([]uint64, n)
	var small, large []int
	for i, w := range weights {
		columns[i] = column{split: math.MaxUint64, own: uint32(i), alias: uint32(i)}
		left[i] = uint64(w) * n
		if left[i] < sum {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	// The mean of what is left is always sum: while a small one remains, so
	// does a large one to fill it up.
	for len(small) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		columns[s].split, _ = bits.Div64(left[s], 0, sum) // left/sum of 2^64
		columns[s].alias = uint32(l)
		left[l] -= sum - left[s]
		if left[l] < sum {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return columns
}

func (p *random) Pick(_ uint64, avoid *Set) int {
	if avoid == nil {
		return p.draw()
	}
	// A draw that is thrown away leaves the proportions of the others as they
	// are, and so does the exact draw that follows.
	for range randomTries {
		if i := p.draw(); !avoid.Has(i) {
			return i
		}
	}
	return pickWeighted(p.weights, avoid, rand.Uint64())
}

func (p *random) draw() int {
	at, rest := bits.Mul64(rand.Uint64(), uint64(len(p.columns)))
	c := &p.columns[at]
	if rest < c.split {
		return int(c.own)
	}
	return int(c.alias)
}

func (p *random) Digest() uint64 { return p.digest }
