package picker

import (
	"errors"
	"fmt"
	"testing"
)

// entries counts the table entries of each backend.
func entries(p Picker, n int) []int {
	counts := make([]int, n)
	for _, i := range p.(*maglev).table {
		counts[i]++
	}
	return counts
}

func TestMaglevEqualWeightsDifferByAtMostOneEntry(t *testing.T) {
	for _, weights := range [][]int{
		{1}, {1, 1, 1}, {7, 7, 7, 7, 7, 7, 7}, {1, 2, 1, 2, 1, 2}, {256, 1, 256, 1, 9, 9, 9},
	} {
		least, most := make(map[int]int), make(map[int]int)
		for i, got := range entries(mustNew(t, Maglev, weighted(weights...), Options{}), len(weights)) {
			w := weights[i]
			if least[w] == 0 || got < least[w] {
				least[w] = got
			}
			most[w] = max(most[w], got)
		}
		for w := range least {
			if most[w]-least[w] > 1 {
				t.Errorf("weights %v: those of %d have %d to %d entries", weights, w, least[w], most[w])
			}
		}
	}
}

func TestMaglevSharesFollowTheWeights(t *testing.T) {
	for _, backends := range [][]Backend{equal(5), weighted(1, 2, 3), weighted(256, 1), mixed(200, 20)} {
		p := mustNew(t, Maglev, backends, Options{})
		got := make([]float64, len(backends))
		for i, count := range entries(p, len(backends)) {
			got[i] = float64(count) / maglevSize
		}
		wantShares(t, got, backends, nil, 2./maglevSize)
		wantShares(t, shares(p, len(backends), 50000, nil), backends, nil, 0.02)
	}
}

func TestMaglevLeavesNoBackendWithoutAnEntry(t *testing.T) {
	backends := weighted(make([]int, 2000)...)
	for i := range backends {
		backends[i].Weight = MaxWeight
	}
	backends[1999].Weight = 1 // due an eighth of an entry
	if got := entries(mustNew(t, Maglev, backends, Options{}), 2000)[1999]; got != 1 {
		t.Errorf("the lightest has %d entries, want 1", got)
	}
}

func TestMaglevRefusesMoreBackendsThanIndexes(t *testing.T) {
	backends := make([]Backend, maxMaglev+1)
	for i := range backends {
		backends[i] = Backend{ID: fmt.Sprint(i), Weight: 1}
	}
	if _, err := New(Maglev, backends, Options{}); !errors.Is(err, ErrTooMany) {
		t.Errorf("%d backends: %v", len(backends), err)
	}
	p := mustNew(t, Maglev, backends[:maxMaglev], Options{})
	for i, got := range entries(p, maxMaglev) {
		if got < 1 || got > 2 {
			t.Fatalf("backend %d of %d has %d entries", i, maxMaglev, got)
		}
	}
}

func TestEveryPermutationVisitsEveryEntry(t *testing.T) {
	backends := mixed(20, 3)
	order, err := validate(backends)
	if err != nil {
		t.Fatal(err)
	}
	for rank, p := range permutations(backends, order) {
		seen := make([]bool, maglevSize)
		for at, k := p.at, 0; k < maglevSize; k++ {
			if seen[at] {
				t.Fatalf("rank %d comes back to entry %d after %d steps", rank, at, k)
			}
			seen[at] = true
			at = step(at, p.skip)
		}
	}
}

// The plain algorithm of the paper, for equal weights.
func TestMaglevFillsTheTableAsInThePaper(t *testing.T) {
	backends := equal(7)
	order, err := validate(backends)
	if err != nil {
		t.Fatal(err)
	}
	perms := permutations(backends, order)
	want := make([]int, maglevSize)
	for i := range want {
		want[i] = -1
	}
	next := make([]uint64, len(perms))
	for filled := 0; filled < maglevSize; {
		for i, p := range perms {
			at := uint64(p.at)
			for want[at] >= 0 {
				next[i]++
				at = (uint64(p.at) + next[i]*uint64(p.skip)) % maglevSize
			}
			want[at] = i
			if filled++; filled == maglevSize {
				break
			}
		}
	}
	for at, rank := range fillMaglev(backends, order) {
		if int(rank) != want[at] {
			t.Fatalf("entry %d belongs to %d, want %d", at, rank, want[at])
		}
	}
}

// Maglev trades disruption for evenness: how much is measured here.
func TestMaglevMovesFewKeysOfTheOthers(t *testing.T) {
	tests := []struct {
		n       int
		bystand float64 // bound on the moved keys of those that stay
	}{{3, 0.01}, {5, 0.01}, {20, 0.01}, {100, 0.01}}
	for _, test := range tests {
		backends, keys := equal(test.n), clientKeys(20000)
		rest := without(backends, "B2")
		before := homes(mustNew(t, Maglev, backends, Options{}), backends, keys, nil)
		after := homes(mustNew(t, Maglev, rest, Options{}), rest, keys, nil)
		moved, stay := 0, 0
		heirs := make(map[string]bool)
		for i := range keys {
			if before[i] == "B2" {
				heirs[after[i]] = true
				continue
			}
			stay++
			if before[i] != after[i] {
				moved++
			}
		}
		got := float64(moved) / float64(stay)
		t.Logf("%d backends: %.2f %% of the keys of the others moved", test.n, 100*got)
		if got > test.bystand {
			t.Errorf("%d backends: %.4f of the keys of the others moved, want at most %.2f", test.n, got, test.bystand)
		}
		if want := min(test.n-1, 3); len(heirs) < want {
			t.Errorf("%d backends: the keys of B2 went to %d others", test.n, len(heirs))
		}
	}
}

func TestMaglevAvoidingMovesOnlyTheKeysOfTheAvoided(t *testing.T) {
	backends, keys := equal(5), clientKeys(5000)
	p := mustNew(t, Maglev, backends, Options{})
	before, after := homes(p, backends, keys, nil), homes(p, backends, keys, setOf(2))
	heirs := make(map[string]int)
	for i := range keys {
		if before[i] == "B3" {
			heirs[after[i]]++
		} else if before[i] != after[i] {
			t.Fatalf("a key of %s moved to %s", before[i], after[i])
		}
	}
	for _, id := range []string{"B1", "B2", "B4", "B5"} {
		if heirs[id] < 150 || heirs[id] > 350 {
			t.Errorf("%s took over %d of about 1,000 keys, want about 250", id, heirs[id])
		}
	}
}
