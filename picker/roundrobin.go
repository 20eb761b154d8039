package picker

import "sync/atomic"

// maxCycle is the longest cycle that is unrolled for the weights as they are,
// 256 KiB. Longer ones, which take more than 256 backends, are scaled down.
const maxCycle = 1 << 16

// roundRobin takes turns by smooth weighted round-robin: in each step every
// backend gains its weight, the one with the most is taken and pays the sum of
// all. Turns of a heavy backend are spread over the cycle instead of following
// one another. The order is nginx's.
type roundRobin struct {
	cycle   []uint32 // indexes of the backends, one for each turn
	weights []uint16
	cursor  *atomic.Uint64 // of first choices
	again   *atomic.Uint64 // of choices with some avoided: else one that is always avoided would shift the others' turns
	digest  uint64
}

// paddedCursor keeps a counter that every core writes off the cache lines that
// every core reads.
type paddedCursor struct {
	_ [64]byte
	atomic.Uint64
	_ [56]byte
}

func newRoundRobin(backends []Backend, order []int, cursor *atomic.Uint64) *roundRobin {
	if cursor == nil {
		cursor = &new(paddedCursor).Uint64
	}
	weights := weightsOf(backends)
	return &roundRobin{
		cycle:   unroll(cycleWeights(weights)),
		weights: weights,
		cursor:  cursor,
		again:   &new(paddedCursor).Uint64,
		digest:  newDigester(RoundRobin).backends(backends, order).sum(),
	}
}

func (p *roundRobin) Pick(_ uint64, avoid *Set) int {
	if avoid == nil {
		return p.next(p.cursor)
	}
	if avoid.free(len(p.weights)) == 0 {
		return -1
	}
	// Each step draws a position of its own, see the package documentation.
	for range 2 * len(p.weights) {
		if i := p.next(p.again); !avoid.Has(i) {
			return i
		}
	}
	// The avoided ones hold long stretches of the cycle. Mixing, because the
	// positions that get here are nearly equidistant.
	return pickWeighted(p.weights, avoid, mix64(p.again.Add(1)))
}

func (p *roundRobin) next(cursor *atomic.Uint64) int {
	turn := cursor.Add(1) - 1
	return int(p.cycle[turn%uint64(len(p.cycle))])
}

func (p *roundRobin) Digest() uint64 { return p.digest }

// cycleWeights returns the weights in lowest terms, after scaling them down where
// the cycle would be longer than maxCycle. Scaled weights are at least 1 and
// their sum is at most maxCycle, or all are 1 when there are more backends than
// that: shares are then off by less than one turn in a cycle for each backend.
func cycleWeights(weights []uint16) []int {
	sum, divisor := 0, 0
	for _, w := range weights {
		sum += int(w)
		divisor = gcd(divisor, int(w))
	}
	scaled := make([]int, len(weights))
	for i, w := range weights {
		scaled[i] = int(w) / divisor
	}
	if sum/divisor <= maxCycle {
		return scaled
	}
	// Keeping one turn aside for each backend pays for those rounded up to 1.
	room := max(maxCycle-len(weights), 0)
	divisor = 0
	for i, w := range weights {
		scaled[i] = max(int(w)*room/sum, 1)
		divisor = gcd(divisor, scaled[i])
	}
	for i := range scaled {
		scaled[i] /= divisor
	}
	return scaled
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// curve is the common state of all backends of one weight. They gain the same in
// each step and differ only by what they paid, so they take their turns in the
// order of their indexes: the next one always has the most.
type curve struct {
	members []uint32
	next    int // position in members
	weight  int
	credit  int // what members[next] has gained less what it has paid
}

// unroll plays one cycle of smooth weighted round-robin. A step costs the number
// of different weights, at most 256, instead of the number of backends. Ties
// go to the lowest index, as when all backends are scanned.
func unroll(weights []int) []uint32 {
	curves, sum := groupByWeight(weights)
	cycle := make([]uint32, sum)
	for turn := range cycle {
		best := &curves[0]
		for k := range curves {
			c := &curves[k]
			c.credit += c.weight
			if c.credit > best.credit ||
				c.credit == best.credit && c.members[c.next] < best.members[best.next] {
				best = c
			}
		}
		cycle[turn] = best.members[best.next]
		// With the last of a lap all have paid once more, and the first of
		// them leads again.
		if best.next++; best.next == len(best.members) {
			best.next = 0
			best.credit -= sum
		}
	}
	return cycle
}

func groupByWeight(weights []int) (curves []curve, sum int) {
	at := make(map[int]int)
	for i, w := range weights {
		k, ok := at[w]
		if !ok {
			k = len(curves)
			at[w] = k
			curves = append(curves, curve{weight: w})
		}
		curves[k].members = append(curves[k].members, uint32(i))
		sum += w
	}
	return curves, sum
}
