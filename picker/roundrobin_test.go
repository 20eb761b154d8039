package picker

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// naive is smooth weighted round-robin as it is usually written: scan all, the
// first of the greatest wins and pays the sum.
func naive(weights []int, turns int) []uint32 {
	credit := make([]int, len(weights))
	order := make([]uint32, turns)
	for t := range order {
		best, sum := 0, 0
		for i, w := range weights {
			credit[i] += w
			sum += w
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= sum
		order[t] = uint32(best)
	}
	return order
}

// turns spells out n picks as letters.
func turns(p Picker, n int, avoid *Set) string {
	var s strings.Builder
	for range n {
		s.WriteByte(byte('a' + p.Pick(0, avoid)))
	}
	return s.String()
}

func TestRoundRobinTakesTurnsInTheOrderOfNginx(t *testing.T) {
	tests := []struct {
		weights []int
		want    string
	}{
		{[]int{1}, "aaa"},
		{[]int{1, 1, 1}, "abcabc"},
		{[]int{5, 1, 1}, "aabacaaaabacaa"},
		{[]int{50, 10, 10}, "aabacaaaabacaa"}, // in lowest terms the same
		{[]int{1, 2}, "babbab"},
		{[]int{4, 2, 1}, "abacabaabacaba"},
		{[]int{3, 3, 2}, "abcabcababcabcab"},
	}
	for _, test := range tests {
		p := mustNew(t, RoundRobin, weighted(test.weights...), Options{})
		if got := turns(p, len(test.want), nil); got != test.want {
			t.Errorf("weights %v: %s, want %s", test.weights, got, test.want)
		}
	}
}

func TestGroupedCurvesGiveTheNaiveOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		weights := make([]int, 1+r.IntN(30))
		most := 1 + r.IntN(40)
		sum := 0
		for i := range weights {
			weights[i] = 1 + r.IntN(most)
			sum += weights[i]
		}
		if got := unroll(weights); !slices.Equal(got, naive(weights, sum)) {
			t.Fatalf("weights %v: %v, want %v", weights, got, naive(weights, sum))
		}
	}
}

func FuzzRoundRobinGivesTheNaiveOrder(f *testing.F) {
	f.Add([]byte{5, 1, 1})
	f.Add([]byte{2, 4, 2, 4, 8})
	f.Add([]byte{255, 254, 255, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 64 {
			t.Skip()
		}
		weights := make([]int, len(data))
		sum := 0
		for i, w := range data {
			weights[i] = int(w) + 1
			sum += weights[i]
		}
		p := newRoundRobin(weighted(weights...), nil, nil)
		// Lowest terms make the cycle shorter, so compare by picking.
		for turn, want := range naive(weights, sum) {
			if got := p.Pick(0, nil); got != int(want) {
				t.Fatalf("weights %v: turn %d is %d, want %d", weights, turn, got, want)
			}
		}
	})
}

func TestRoundRobinGoesOnWhereItWasAfterARebuild(t *testing.T) {
	var cursor atomic.Uint64
	backends := equal(4)
	if got := turns(mustNew(t, RoundRobin, backends, Options{Cursor: &cursor}), 6, nil); got != "abcdab" {
		t.Fatalf("before: %s", got)
	}
	if got := turns(mustNew(t, RoundRobin, backends, Options{Cursor: &cursor}), 3, nil); got != "cda" {
		t.Errorf("after the rebuild: %s, want cda", got)
	}
	if got := turns(mustNew(t, RoundRobin, backends, Options{}), 3, nil); got != "abc" {
		t.Errorf("with a cursor of its own: %s, want abc", got)
	}
	cursor.Store(^uint64(0)) // the counter may wrap
	if got := turns(mustNew(t, RoundRobin, backends, Options{Cursor: &cursor}), 3, nil); got != "dab" {
		t.Errorf("over the end of the counter: %s, want dab", got)
	}
}

func TestRoundRobinKeepsTheProportionsOfThoseLeft(t *testing.T) {
	tests := []struct {
		name      string
		weights   []int
		avoid     *Set
		tolerance float64
	}{
		{"equal", []int{1, 1, 1, 1}, setOf(1), 0.001},
		{"neighbours avoided", []int{1, 1, 1, 1, 1}, setOf(1, 2), 0.001},
		{"weighted", []int{5, 1, 2}, setOf(0), 0.001},
		{"light avoided", []int{5, 1, 2}, setOf(1), 0.001},
		{"heavy avoided", []int{256, 1, 3}, setOf(0), 0.05}, // settled by pickWeighted
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			backends := weighted(test.weights...)
			p := mustNew(t, RoundRobin, backends, Options{})
			wantShares(t, shares(p, len(backends), 6000, test.avoid), backends, test.avoid, test.tolerance)
		})
	}
	p := mustNew(t, RoundRobin, equal(4), Options{})
	if got := turns(p, 6, setOf(1)); got != "acdacd" {
		t.Errorf("with b avoided: %s, want acdacd", got)
	}
}

func TestRoundRobinIsExactUnderConcurrency(t *testing.T) {
	backends := weighted(5, 1, 1)
	p := mustNew(t, RoundRobin, backends, Options{})
	counts := make([]atomic.Int64, len(backends))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 700 {
				counts[p.Pick(0, nil)].Add(1)
			}
		})
	}
	wg.Wait()
	for i, want := range []int64{2000, 400, 400} {
		if got := counts[i].Load(); got != want {
			t.Errorf("%s had %d turns, want %d", backends[i].ID, got, want)
		}
	}
}

func TestLongCyclesAreScaledDown(t *testing.T) {
	tests := []struct {
		name     string
		backends []Backend
		length   int // 0: not longer than maxCycle
		error    float64
	}{
		{"lowest terms", weighted(256, 128, 64), 7, 0},
		{"short enough", mixed(250, MaxWeight), 0, 0},
		{"equal weights however great", weighted(slices.Repeat([]int{251}, 1000)...), 1000, 0},
		{"too long", mixed(1000, MaxWeight), 0, 1. / maxCycle * 2},
		{"many light ones and a heavy one", weighted(append(slices.Repeat([]int{1}, 65530), 256)...), 65531, 0.005},
		{"more backends than maxCycle", weighted(append(slices.Repeat([]int{1}, 69999), 2)...), 70000, 1e-4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newRoundRobin(test.backends, nil, nil)
			n := len(p.cycle)
			if test.length > 0 && n != test.length || test.length == 0 && n > maxCycle {
				t.Errorf("cycle of %d turns, want %d", n, test.length)
			}
			got := make([]float64, len(test.backends))
			for _, i := range p.cycle {
				got[i] += 1 / float64(n)
			}
			for i := range got {
				if got[i] == 0 {
					t.Fatalf("%s has no turn", test.backends[i].ID)
				}
			}
			wantShares(t, got, test.backends, nil, test.error+1e-9)
		})
	}
}

// Smooth: the turns of each backend keep their distance.
func TestHeavyBackendsHaveTheirTurnsSpreadOut(t *testing.T) {
	weights := []int{10, 5, 5, 1}
	last := []int{-1, -1, -1, -1}
	for turn, i := range slices.Concat(unroll(weights), unroll(weights)) {
		if last[i] >= 0 {
			gap, mean := turn-last[i], 21/float64(weights[i])
			if float64(gap) > mean+3 || float64(gap) < mean-3 {
				t.Errorf("backend %d waits %d turns, the mean is %.1f", i, gap, mean)
			}
		}
		last[i] = turn
	}
}

// C55: with two backends of which the first always fails, half the clients get it first, not all.
func TestARetryDoesNotShiftTheTurnsOfOthers(t *testing.T) {
	p := mustNew(t, RoundRobin, equal(2), Options{})
	first := 0
	for range 10 {
		if p.Pick(0, nil) == 0 {
			first++
			if again := p.Pick(0, setOf(0)); again != 1 {
				t.Fatalf("the retry went to %d", again)
			}
		}
	}
	if first != 5 {
		t.Errorf("%d of 10 clients got the failing backend first, want 5", first)
	}
}
