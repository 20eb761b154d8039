package picker

import "math/bits"

// Set is a set of backend indexes, for instance those that a session has tried
// already. A nil or zero Set is empty. It is not safe for use while another
// goroutine changes it.
type Set struct {
	words []uint64
}

// NewSet returns an empty set with room for the indexes 0 to n-1. Zero and
// negative n mean no room yet: Add makes it.
func NewSet(n int) *Set {
	return &Set{words: make([]uint64, (max(n, 0)+63)/64)}
}

// Add puts index i into the set. It allocates only when i is beyond the room
// the set has. A negative i, the answer of a failed pick, is ignored. Add is
// the one method that must not be called on a nil Set.
func (s *Set) Add(i int) {
	if i < 0 {
		return
	}
	for i>>6 >= len(s.words) {
		s.words = append(s.words, 0)
	}
	s.words[i>>6] |= 1 << (i & 63)
}

// Has tells whether index i is in the set. A nil set has none.
func (s *Set) Has(i int) bool {
	// The unsigned comparison covers negative indexes as well.
	if s == nil || uint(i)>>6 >= uint(len(s.words)) {
		return false
	}
	return s.words[uint(i)>>6]&(1<<(uint(i)&63)) != 0
}

// Len returns the number of indexes in the set, 0 for nil.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Reset empties the set and keeps its room. A nil set stays nil.
func (s *Set) Reset() {
	if s != nil {
		clear(s.words)
	}
}

// free returns how many of the indexes 0 to n-1 are not in the set.
func (s *Set) free(n int) int {
	if s == nil {
		return n
	}
	taken := 0
	for k, w := range s.words {
		if left := n - k*64; left < 64 {
			// A set may have been made for a longer list: what is beyond
			// this one does not count.
			taken += bits.OnesCount64(w & (1<<max(left, 0) - 1))
			break
		}
		taken += bits.OnesCount64(w)
	}
	return n - taken
}

// nthFree returns the k-th index, from 0, that is not in the set. The caller
// makes sure that k is below free(n); the answer is then below n.
func (s *Set) nthFree(k int) int {
	if s == nil {
		return k
	}
	for i, w := range s.words {
		open := bits.OnesCount64(^w)
		if k >= open {
			k -= open
			continue
		}
		rest := ^w
		for range k {
			rest &= rest - 1
		}
		return i*64 + bits.TrailingZeros64(rest)
	}
	return len(s.words)*64 + k
}

// sole answers the two cases in which nothing is left to choose: index -1 when
// all of 0 to n-1 are in the set, or the only one that is not. Hashed policies
// ask it first, as their walk is long exactly when nearly all are avoided.
func (s *Set) sole(n int) (index int, done bool) {
	switch s.free(n) {
	case 0:
		return -1, true
	case 1:
		return s.nthFree(0), true
	}
	return 0, false
}
