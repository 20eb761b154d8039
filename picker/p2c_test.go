package picker

import (
	"math"
	"testing"
)

func TestP2CTakesTheBetterOfTwoDistinctOnes(t *testing.T) {
	tests := []struct {
		name    string
		weights []int
		loads   []int64
		avoid   *Set
		want    []float64 // share by index
	}{
		// With two of two the worse one is never taken.
		{"two", []int{1, 1}, []int64{1, 0}, nil, []float64{0, 1}},
		{"two by weight", []int{1, 3}, []int64{1, 4}, nil, []float64{0, 1}}, // 2/1 against 5/3
		// Of three pairs the best is in two, the middle wins one.
		{"three", []int{1, 1, 1}, []int64{2, 1, 0}, nil, []float64{0, 1. / 3, 2. / 3}},
		{"all equal", []int{1, 1, 1, 1}, nil, nil, []float64{.25, .25, .25, .25}},
		{"best avoided", []int{1, 1, 1}, []int64{2, 1, 0}, setOf(2), []float64{0, 1, 0}},
		{"middle avoided", []int{1, 1, 1, 1}, []int64{2, 5, 1, 0}, setOf(1), []float64{0, 0, 1. / 3, 2. / 3}},
		{"one left", []int{1, 1, 1}, []int64{9, 0, 0}, setOf(1, 2), []float64{1, 0, 0}},
		{"one in all", []int{7}, []int64{100}, nil, []float64{1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := mustNew(t, P2C, withLoads(weighted(test.weights...), test.loads...), Options{})
			got := shares(p, len(test.want), 8000, test.avoid)
			for i, want := range test.want {
				if math.Abs(got[i]-want) > 0.045 || want == 0 && got[i] > 0 {
					t.Errorf("backend %d has %.3f of the picks, want %.3f", i, got[i], want)
				}
			}
		})
	}
}

// The classic result: with n sessions on n backends the fullest has about
// log log n, against log n/log log n for one choice.
func TestP2CKeepsTheFullestNearTheMean(t *testing.T) {
	fullest := func(policy string) int64 {
		backends := equal(1000)
		p := mustNew(t, policy, backends, Options{})
		most := int64(0)
		for range 1000 {
			most = max(most, backends[p.Pick(0, nil)].Load.Add(1))
		}
		return most
	}
	if two, one := fullest(P2C), fullest(Random); two > 4 || one <= two-1 {
		t.Errorf("the fullest has %d sessions with two choices and %d with one", two, one)
	}
}
