package metrics

import (
	"math"
	"slices"
	"time"
)

// The native buckets: each doubling is cut into 2^schema, so that a bucket is
// 2^(1/8) = 1.09 times as wide as the one below, the largest factor up to 1.1.
const (
	schema = 3
	perTwo = 1 << schema

	lowest  = -17 * perTwo // key of the zero bucket's bound: 2^-17 s, 7.6 µs
	highest = 7 * perTwo   // key of the last bucket, whose bound is 128 s
)

// layout is how durations are cut into cells. It does not change once it is made.
type layout struct {
	bounds  []int64   // upper bounds of the cells in ns, inclusive; rising. One more cell has none
	native  []int     // of each cell, the native bucket: 0 is the zero bucket, n that of key lowest+n
	classic []int     // of each cell, the classic bucket; len(le) is +Inf
	le      []float64 // upper bounds of the classic buckets in seconds, without +Inf
}

// newLayout returns the cells for the classic bounds given, which rise. Durations are
// whole nanoseconds, so that bounds may be rounded down to them.
func newLayout(classic ...time.Duration) *layout {
	l := &layout{}
	var native []int64
	for key := lowest; key <= highest; key++ {
		native = append(native, int64(math.Exp2(float64(key)/perTwo)*1e9))
	}
	l.bounds = slices.Clone(native)
	for _, d := range classic {
		l.le = append(l.le, d.Seconds())
		l.bounds = append(l.bounds, int64(d))
	}
	slices.Sort(l.bounds)
	l.bounds = slices.Compact(l.bounds)

	for i := range len(l.bounds) + 1 {
		top := int64(math.MaxInt64)
		if i < len(l.bounds) {
			top = l.bounds[i]
		}
		n, _ := slices.BinarySearch(native, top)
		// What is longer than the last bucket is counted in it.
		l.native = append(l.native, min(n, len(native)-1))
		c, _ := slices.BinarySearch(classic, time.Duration(top))
		l.classic = append(l.classic, c)
	}
	return l
}

// cell returns where d is counted.
func (l *layout) cell(d time.Duration) int {
	i, _ := slices.BinarySearch(l.bounds, int64(d))
	return i
}

// middle returns a value within cell i that is off by as little as can be told: the
// geometric middle of its bounds.
func (l *layout) middle(i int) time.Duration {
	switch last := len(l.bounds) - 1; {
	case i == 0:
		return time.Duration(l.bounds[0])
	case i > last:
		return time.Duration(l.bounds[last])
	}
	return time.Duration(math.Sqrt(float64(l.bounds[i-1]) * float64(l.bounds[i])))
}
