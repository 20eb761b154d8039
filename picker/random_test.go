package picker

import (
	"math"
	"testing"
)

func TestRandomSharesFollowTheWeights(t *testing.T) {
	tests := []struct {
		name    string
		weights []int
		avoid   *Set
	}{
		{"one", []int{9}, nil},
		{"equal", []int{1, 1, 1}, nil},
		{"unequal", []int{1, 2, 3, 4}, nil},
		{"extreme", []int{256, 1, 256, 1}, nil},
		{"one avoided", []int{1, 2, 3, 4}, setOf(2)},
		// Nearly every draw from the table fails: the exact draw has to serve.
		{"the heavy ones avoided", []int{256, 1, 256, 3}, setOf(0, 2)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			backends := weighted(test.weights...)
			p := mustNew(t, Random, backends, Options{})
			got := shares(p, len(backends), 20000, test.avoid)
			wantShares(t, got, backends, test.avoid, 0.025) // seven standard deviations
		})
	}
}

// The table itself, without chance: what the columns give to each backend adds
// up to its weight.
func TestAliasTableHoldsExactlyTheWeights(t *testing.T) {
	for _, backends := range [][]Backend{equal(1), equal(7), weighted(256, 1, 1), mixed(50, 9), mixed(333, MaxWeight)} {
		weights := weightsOf(backends)
		got := make([]float64, len(backends))
		sum := 0.0
		for i, c := range aliasTable(weights) {
			if c.own != uint32(i) || int(c.alias) >= len(backends) {
				t.Fatalf("column %d is of %d and %d", i, c.own, c.alias)
			}
			own := float64(c.split) / (1 << 64)
			got[c.own] += own
			got[c.alias] += 1 - own
			sum += float64(weights[i])
		}
		for i, w := range weights {
			want := float64(w) / sum * float64(len(weights))
			if math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%d backends: %d has %.12f columns, want %.12f", len(weights), i, got[i], want)
			}
		}
	}
}

func TestExactDrawCoversTheWholeRange(t *testing.T) {
	weights := []uint16{2, 5, 1, 2}
	avoid := setOf(1)
	counts := make([]int, len(weights))
	const steps = 5 * 1000
	for k := range uint64(steps) {
		counts[pickWeighted(weights, avoid, k*(math.MaxUint64/steps))]++
	}
	for i, want := range []int{2000, 0, 1000, 2000} {
		if d := counts[i] - want; d < -1 || d > 1 {
			t.Errorf("backend %d has %d draws, want %d", i, counts[i], want)
		}
	}
	if got := pickWeighted(weights, avoid, math.MaxUint64); got != 3 {
		t.Errorf("the greatest draw gives %d, want the last", got)
	}
}
