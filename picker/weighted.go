package picker

import "math/bits"

// pickWeighted returns an index that is not in avoid, each with a probability in
// proportion to its weight, for a uniform draw; -1 when all are in avoid. It
// takes two passes over the weights: the exact answer for the rare pick that a
// few tries at a table did not settle.
func pickWeighted(weights []uint16, avoid *Set, draw uint64) int {
	sum := uint64(0)
	for i, w := range weights {
		if !avoid.Has(i) {
			sum += uint64(w)
		}
	}
	at, _ := bits.Mul64(draw, sum) // draw as a fraction of 2^64, times sum
	for i, w := range weights {
		if avoid.Has(i) {
			continue
		}
		if at < uint64(w) {
			return i
		}
		at -= uint64(w)
	}
	return -1
}

func weightsOf(backends []Backend) []uint16 {
	weights := make([]uint16, len(backends))
	for i, b := range backends {
		weights[i] = uint16(b.Weight)
	}
	return weights
}
