package picker

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestRingPointsKeepTheWholeRingWithinItsBudget(t *testing.T) {
	tests := []struct {
		name    string
		weights []int
		want    int
	}{
		{"none", nil, 256},
		{"three light ones", []int{1, 1, 1}, 256},
		{"a thousand light ones", slices.Repeat([]int{1}, 1000), 256},
		{"three heavy ones", []int{256, 256, 256}, 256},
		{"a hundred heavy ones", slices.Repeat([]int{256}, 100), 40},
		{"ten thousand heavy ones", slices.Repeat([]int{256}, 10000), 1},
		{"zero and negative count nothing", append(slices.Repeat([]int{0, -7}, 90000), 1), 256},
		{"above the maximum counts as the maximum", slices.Repeat([]int{math.MaxInt}, 100), 40},
	}
	for _, test := range tests {
		if got := RingPoints(test.weights); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestRingRefusesMorePointsThanItCanHold(t *testing.T) {
	for _, points := range []int{maxPoints/3 + 1, maxPoints + 1, math.MaxInt} {
		if _, err := New(SourceHash, weighted(1, 2), Options{RingPoints: points}); !errors.Is(err, ErrTooMany) {
			t.Errorf("%d points per unit of weight: %v", points, err)
		}
	}
	zero := mustNew(t, SourceHash, equal(2), Options{}).Digest()
	for _, points := range []int{-1, 256} {
		if mustNew(t, SourceHash, equal(2), Options{RingPoints: points}).Digest() != zero {
			t.Errorf("%d points make another ring than the default", points)
		}
	}
}

func TestRingIsSortedAndItsBucketsFindEveryPoint(t *testing.T) {
	for _, backends := range [][]Backend{equal(1), equal(3), mixed(40, 20)} {
		for _, perWeight := range []int{1, 2, 37} {
			p := mustNew(t, SourceHash, backends, Options{RingPoints: perWeight}).(*ring)
			if !slices.IsSorted(p.points) {
				t.Fatalf("%d backends at %d points: not sorted", len(backends), perWeight)
			}
			for k, point := range p.points {
				for _, key := range []uint64{point - 1, point, point + 1} {
					want, _ := slices.BinarySearch(p.points, key)
					if got := p.find(key); got != want%len(p.points) {
						t.Fatalf("point %d: key %#x found at %d, want %d", k, key, got, want)
					}
				}
			}
			if p.find(math.MaxUint64) != 0 {
				t.Error("beyond the last point is not the first")
			}
		}
	}
}

func TestEqualPointsBelongToTheSmallerID(t *testing.T) {
	// Ranks as place leaves them: equal points in the order of the IDs.
	p := &ring{points: []uint64{9, 5, 5, 5, 1}, owners: []uint32{4, 0, 1, 2, 3}}
	p.sort()
	if !slices.Equal(p.owners, []uint32{3, 0, 1, 2, 4}) {
		t.Errorf("owners %v", p.owners)
	}
}

// 250 clients of five backends: one goes down and comes back.
func TestRemovingABackendMovesOnlyItsClients(t *testing.T) {
	backends, keys := equal(5), clientKeys(250)
	points := Options{RingPoints: RingPoints([]int{1, 1, 1, 1, 1})}
	before := homes(mustNew(t, SourceHash, backends, points), backends, keys, nil)

	rest := without(backends, "B3")
	after := homes(mustNew(t, SourceHash, rest, points), rest, keys, nil)
	heirs := make(map[string]int)
	for i, home := range before {
		switch {
		case home == "B3":
			heirs[after[i]]++
		case after[i] != home:
			t.Errorf("client %d moved from %s to %s", i, home, after[i])
		}
	}
	if len(heirs) < 3 || heirs["B3"] > 0 {
		t.Errorf("the clients of B3 went to %v, want at least three others", heirs)
	}

	back := homes(mustNew(t, SourceHash, shuffled(backends, 1), points), shuffled(backends, 1), keys, nil)
	if !slices.Equal(back, before) {
		t.Error("after B3 came back not every client is home")
	}
}

func TestAvoidingIsTheSameAsLeavingOut(t *testing.T) {
	backends, keys := mixed(12, 6), clientKeys(2000)
	p := mustNew(t, SourceHash, backends, Options{RingPoints: 50})
	gone := []string{}
	avoid := NewSet(12)
	for _, i := range []int{3, 0, 7, 11, 4, 5, 1, 2, 8, 10, 6} {
		gone = append(gone, backends[i].ID)
		avoid.Add(i)
		rest := without(backends, gone...)
		want := homes(mustNew(t, SourceHash, rest, Options{RingPoints: 50}), rest, keys, nil)
		if !slices.Equal(homes(p, backends, keys, avoid), want) {
			t.Errorf("avoiding %v differs from a ring without them", gone)
		}
	}
}

func TestEachClientHasAStableSecondHome(t *testing.T) {
	backends := equal(5)
	for _, policy := range []string{SourceHash, Maglev} {
		p := mustNew(t, policy, backends, Options{})
		again := mustNew(t, policy, shuffled(backends, 9), Options{})
		seconds := make(map[[2]int]int)
		for _, key := range clientKeys(1000) {
			first := p.Pick(key, nil)
			second := p.Pick(key, setOf(first))
			seconds[[2]int{first, second}]++
			mirror := shuffled(backends, 9)
			avoid := setOf(slices.Index(mirror, backends[first]))
			if got := mirror[again.Pick(key, avoid)]; got.ID != backends[second].ID {
				t.Fatalf("%s: second home %s here, %s there", policy, backends[second].ID, got.ID)
			}
		}
		if len(seconds) != 20 {
			t.Errorf("%s: %d pairs of homes, want all 20", policy, len(seconds))
		}
	}
}

func TestTablesDoNotDependOnTheOrderOfTheList(t *testing.T) {
	backends, keys := mixed(30, 8), clientKeys(1000)
	for _, policy := range []string{SourceHash, Maglev} {
		want := homes(mustNew(t, policy, backends, Options{}), backends, keys, nil)
		for seed := range uint64(4) {
			list := shuffled(backends, seed)
			if !slices.Equal(homes(mustNew(t, policy, list, Options{}), list, keys, nil), want) {
				t.Errorf("%s: a shuffled list maps differently", policy)
			}
		}
	}
}

// Instances of different releases serve the same clients side by side during an
// upgrade: a change of these numbers moves clients.
func TestTablesStayTheSameOverReleases(t *testing.T) {
	backends := []Backend{{ID: "10.0.0.1:80", Weight: 1}, {ID: "10.0.0.2:80", Weight: 2}, {ID: "10.0.0.3:80", Weight: 1}}
	for policy, want := range map[string]struct {
		digest uint64
		homes  string
	}{
		SourceHash: {0x1861b1b90d284b0e, "232223222122213222331112"},
		Maglev:     {0xa403f473d5e2f57e, "112232122222212323232333"},
	} {
		p := mustNew(t, policy, backends, Options{})
		var got []byte
		for _, key := range clientKeys(24) {
			got = append(got, byte('1'+p.Pick(key, nil)))
		}
		if p.Digest() != want.digest || string(got) != want.homes {
			t.Errorf("%s: digest %#x, homes %s", policy, p.Digest(), got)
		}
	}
}

func TestRingSharesFollowTheWeights(t *testing.T) {
	for _, backends := range [][]Backend{equal(3), weighted(1, 2, 3, 4), weighted(256, 1, 30)} {
		p := mustNew(t, SourceHash, backends, Options{})
		wantShares(t, shares(p, len(backends), 50000, nil), backends, nil, 0.03)
	}
}

func TestOnlyManyVirtualNodesKeepTheSharesEven(t *testing.T) {
	// The widest distance from a fair share, by the length of the arcs.
	distance := func(n, perWeight int) float64 {
		p := mustNew(t, SourceHash, equal(n), Options{RingPoints: perWeight}).(*ring)
		share := make([]float64, n)
		last := p.points[len(p.points)-1]
		for k, point := range p.points {
			share[p.owners[k]] += float64(point-last) / (1 << 64) // wraps at the start
			last = point
		}
		widest := 0.0
		for _, s := range share {
			widest = max(widest, math.Abs(s-1/float64(n)))
		}
		return widest
	}
	for _, n := range []int{3, 5, 10} {
		one, many := distance(n, 1), distance(n, defaultPoints)
		t.Logf("%d backends: off by %.1f points of percentage with one virtual node, %.1f with %d", n, 100*one, 100*many, defaultPoints)
		if many > 0.03 {
			t.Errorf("%d backends: off by %.3f with %d virtual nodes", n, many, defaultPoints)
		}
		if one < 0.06 {
			t.Errorf("%d backends: off by %.3f only with one virtual node", n, one)
		}
	}
}

func TestModuloMovesTwoThirdsOfTheKeysAndTheRingAThird(t *testing.T) {
	backends, keys := equal(3), clientKeys(10000)
	rest := without(backends, "B3")
	before := homes(mustNew(t, SourceHash, backends, Options{}), backends, keys, nil)
	after := homes(mustNew(t, SourceHash, rest, Options{}), rest, keys, nil)
	moved, modulo := 0, 0
	for i, key := range keys {
		if before[i] != after[i] {
			moved++
		}
		if backends[key%3].ID != rest[key%2].ID {
			modulo++
		}
	}
	if moved < 3000 || moved > 3700 {
		t.Errorf("the ring moved %d of 10,000 keys", moved)
	}
	if modulo < 6400 || modulo > 6900 {
		t.Errorf("modulo moved %d of 10,000 keys", modulo)
	}
}

// The weight of a backend that is ramped up changes at every step.
func TestMoreWeightOnlyDrawsClientsToTheBackend(t *testing.T) {
	keys := clientKeys(5000)
	light, heavy := weighted(4, 4, 4), weighted(4, 5, 4)
	before := homes(mustNew(t, SourceHash, light, Options{RingPoints: 64}), light, keys, nil)
	after := homes(mustNew(t, SourceHash, heavy, Options{RingPoints: 64}), heavy, keys, nil)
	moved := 0
	for i := range keys {
		if before[i] != after[i] {
			moved++
			if after[i] != "B2" {
				t.Fatalf("a key moved from %s to %s", before[i], after[i])
			}
		}
	}
	if moved == 0 || moved > len(keys)/8 {
		t.Errorf("%d of %d keys moved", moved, len(keys))
	}
}

// RingPoints may give another number after the configuration changed.
func TestSlightlyFewerPointsMoveFewKeys(t *testing.T) {
	backends, keys := equal(10), clientKeys(10000)
	before := homes(mustNew(t, SourceHash, backends, Options{RingPoints: 209}), backends, keys, nil)
	after := homes(mustNew(t, SourceHash, backends, Options{RingPoints: 208}), backends, keys, nil)
	moved := 0
	for i := range keys {
		if before[i] != after[i] {
			moved++
		}
	}
	if moved == 0 || moved > 150 {
		t.Errorf("one point of 209 less moved %d of 10,000 keys, want about 50", moved)
	}
}
