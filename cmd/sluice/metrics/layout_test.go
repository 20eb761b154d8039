package metrics

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestACellIsInOneNativeAndOneClassicBucket(t *testing.T) {
	m := with()
	for _, l := range []*layout{m.connects, m.probes, newLayout()} {
		if n := len(l.bounds) + 1; len(l.native) != n || len(l.classic) != n {
			t.Fatalf("%d cells, %d native, %d classic", n, len(l.native), len(l.classic))
		}
		for i := 1; i < len(l.bounds); i++ {
			if l.bounds[i] <= l.bounds[i-1] {
				t.Errorf("bound %d does not rise", i)
			}
		}
		if !slices.IsSorted(l.native) || !slices.IsSorted(l.classic) {
			t.Error("cells are not in the order of their buckets")
		}
		if last := len(l.classic) - 1; l.classic[last] != len(l.le) {
			t.Errorf("the last cell is in classic bucket %d, not +Inf", l.classic[last])
		}
	}
}

func TestABoundBelongsToTheBucketBelowIt(t *testing.T) {
	l := newLayout(time.Millisecond, time.Second)
	for i, b := range l.bounds {
		if got := l.cell(time.Duration(b)); got != i {
			t.Errorf("%d ns is in cell %d, not %d", b, got, i)
		}
		if got := l.cell(time.Duration(b + 1)); got != i+1 {
			t.Errorf("%d ns is in cell %d, not %d", b+1, got, i+1)
		}
	}
}

func TestTheMiddleOfACellIsNearEverythingInIt(t *testing.T) {
	l := newLayout(time.Millisecond, time.Second)
	for i := 1; i < len(l.bounds); i++ {
		mid := float64(l.middle(i))
		for _, edge := range []int64{l.bounds[i-1] + 1, l.bounds[i]} {
			if e := math.Abs(mid-float64(edge)) / float64(edge); e > 0.045 {
				t.Errorf("cell %d: %v is off by %.1f %% of %d", i, l.middle(i), 100*e, edge)
			}
		}
	}
	if got := l.middle(0); got != time.Duration(l.bounds[0]) {
		t.Errorf("below the first bound: %v", got)
	}
	if got := l.middle(len(l.bounds)); got != 128*time.Second {
		t.Errorf("above the last bound: %v", got)
	}
}

func TestSpansAreReadBackAsTheyWere(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []int64
		runs   int
	}{
		{"nothing", []int64{0, 0, 0}, 0},
		{"one at the start", []int64{5}, 1},
		{"one at the end", []int64{0, 0, 0, 0, 5}, 1},
		{"side by side", []int64{3, 9, 1}, 1},
		{"a small gap is written as empty buckets", []int64{3, 0, 0, 9}, 1},
		{"a large gap is a new run", []int64{3, 0, 0, 0, 9}, 2},
		{"several of both", []int64{0, 1, 0, 2, 0, 0, 0, 0, 3, 0, 0, 4, 0}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := written(newHistogram(newLayout(), nil))
			h.PositiveSpan, h.PositiveDelta = spans(c.counts)
			if len(h.PositiveSpan) != c.runs {
				t.Errorf("%d runs, not %d", len(h.PositiveSpan), c.runs)
			}
			got := nativeBuckets(h)
			for i, n := range c.counts {
				if have := got[lowest+1+i]; have != uint64(n) {
					t.Errorf("bucket %d: %d, not %d", i, have, n)
				}
			}
		})
	}
}
