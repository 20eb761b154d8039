package picker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestNewRefusesWhatNoPolicyCanServe(t *testing.T) {
	tests := []struct {
		name     string
		backends []Backend
		want     error
		says     string
	}{
		{"none", nil, ErrNoBackends, "no backends"},
		{"weight zero", weighted(1, 0), ErrWeight, `0 of "B2"`},
		{"negative weight", weighted(-1), ErrWeight, `-1 of "B1"`},
		{"weight beyond the maximum", weighted(MaxWeight + 1), ErrWeight, `257 of "B1"`},
		{"same id twice", append(equal(3), equal(2)[1]), ErrDuplicateID, `"B2"`},
	}
	for _, test := range tests {
		for _, policy := range Policies() {
			t.Run(test.name+"/"+policy, func(t *testing.T) {
				p, err := New(policy, test.backends, Options{})
				if p != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, %v, want %v with %s", p, err, test.want, test.says)
				}
			})
		}
	}
}

func TestNewRefusesAnUnknownPolicy(t *testing.T) {
	for _, name := range []string{"", "roundrobin", "Round-Robin", "leastconn"} {
		p, err := New(name, equal(1), Options{})
		if p != nil || !errors.Is(err, ErrUnknownPolicy) || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("New(%q) = %v, %v", name, p, err)
		}
	}
}

func TestPoliciesListsEachOnceAndIsTheCallersOwn(t *testing.T) {
	want := []string{"round-robin", "least-conn", "p2c", "random", "source-hash", "maglev", "first"}
	got := Policies()
	if !slices.Equal(got, want) {
		t.Errorf("Policies() = %v, want %v", got, want)
	}
	got[0] = "changed"
	if Policies()[0] != want[0] {
		t.Error("a caller's change shows in the next list")
	}
}

func TestPickerKeepsNoReferenceToTheList(t *testing.T) {
	for _, policy := range Policies() {
		backends := equal(3)
		p := mustNew(t, policy, backends, Options{})
		digest := p.Digest()
		clear(backends)
		for _, key := range clientKeys(50) {
			if at := p.Pick(key, nil); at < 0 || at > 2 {
				t.Fatalf("%s picked %d", policy, at)
			}
		}
		if p.Digest() != digest {
			t.Errorf("%s: digest changed with the caller's list", policy)
		}
	}
}

func TestWithoutCountersLoadIsZero(t *testing.T) {
	for _, policy := range []string{LeastConn, P2C} {
		p := mustNew(t, policy, []Backend{{ID: "a", Weight: 1}, {ID: "b", Weight: 1}}, Options{})
		got := shares(p, 2, 4000, nil)
		wantShares(t, got, equal(2), nil, 0.05)
	}
}

// Every subset of five backends, with unequal weights and loads.
func TestNoPolicyPicksAnAvoidedBackend(t *testing.T) {
	backends := withLoads(weighted(1, 256, 3, 1, 7), 5, 0, 9, 0, 2)
	n := len(backends)
	keys := clientKeys(40)
	for _, policy := range Policies() {
		p := mustNew(t, policy, backends, Options{RingPoints: 16})
		for mask := range 1 << n {
			avoid := NewSet(n)
			for i := range n {
				if mask&(1<<i) != 0 {
					avoid.Add(i)
				}
			}
			for _, key := range keys {
				at := p.Pick(key, avoid)
				if at == -1 && avoid.Len() == n {
					continue
				}
				if at < 0 || at >= n || avoid.Has(at) {
					t.Fatalf("%s avoiding %05b picked %d", policy, mask, at)
				}
			}
		}
	}
}

func TestTheOnlyBackendLeftIsFound(t *testing.T) {
	backends := mixed(130, MaxWeight)
	for _, policy := range Policies() {
		p := mustNew(t, policy, backends, Options{RingPoints: 2})
		for last := range backends {
			avoid := NewSet(len(backends))
			for i := range backends {
				if i != last {
					avoid.Add(i)
				}
			}
			if at := p.Pick(uint64(last)*golden, avoid); at != last {
				t.Errorf("%s picked %d, only %d is left", policy, at, last)
			}
		}
	}
}

// A set may have been filled for a longer list, before a rebuild.
func TestAvoidedIndexesBeyondTheListAreIgnored(t *testing.T) {
	avoid := setOf(2, 3, 64, 700)
	for _, policy := range Policies() {
		p := mustNew(t, policy, equal(2), Options{})
		for _, key := range clientKeys(20) {
			if at := p.Pick(key, avoid); at != 0 && at != 1 {
				t.Errorf("%s picked %d", policy, at)
			}
		}
		avoid.Add(0)
		avoid.Add(1)
		if at := p.Pick(1, avoid); at != -1 {
			t.Errorf("%s picked %d of none", policy, at)
		}
		avoid = setOf(2, 3, 64, 700)
	}
}

func TestDigestIsTheSameInAnyOrderExceptForFirst(t *testing.T) {
	backends := mixed(20, 9)
	for _, policy := range Policies() {
		want := mustNew(t, policy, backends, Options{}).Digest()
		for seed := range uint64(5) {
			got := mustNew(t, policy, shuffled(backends, seed), Options{}).Digest()
			if same := got == want; same == (policy == First) {
				t.Errorf("%s: same digest after a shuffle: %t", policy, same)
			}
		}
	}
}

func TestDigestTellsDecisionFunctionsApart(t *testing.T) {
	renamed := weighted(1, 2, 3)
	renamed[2].ID = "B4"
	split := []Backend{{ID: "B1B2", Weight: 1}, {ID: "B3", Weight: 2}, {ID: "", Weight: 3}}
	joined := []Backend{{ID: "B1", Weight: 1}, {ID: "B2B3", Weight: 2}, {ID: "", Weight: 3}}
	seen := make(map[uint64]string)
	for _, policy := range Policies() {
		for name, backends := range map[string][]Backend{
			"base": weighted(1, 2, 3), "fewer": weighted(1, 2), "renamed": renamed,
			"split": split, "joined": joined, "weights": weighted(1, 3, 2),
		} {
			if policy == First && name == "weights" {
				continue // first does not look at them
			}
			digest := mustNew(t, policy, backends, Options{}).Digest()
			if other := seen[digest]; other != "" {
				t.Errorf("%s %s has the digest of %s", policy, name, other)
			}
			seen[digest] = policy + " " + name
		}
	}
	a := mustNew(t, SourceHash, equal(3), Options{RingPoints: 10}).Digest()
	b := mustNew(t, SourceHash, equal(3), Options{RingPoints: 11}).Digest()
	if a == b {
		t.Error("rings of 10 and 11 points have the same digest")
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	backends := mixed(100, 5)
	keys := clientKeys(64)
	sets := map[string]*Set{
		"none": nil, "empty": NewSet(100), "some": setOf(1, 2, 3, 50, 99), "all": NewSet(100),
	}
	for i := range backends {
		sets["all"].Add(i)
	}
	for _, policy := range Policies() {
		p := mustNew(t, policy, backends, Options{})
		for name, avoid := range sets {
			if got := testing.AllocsPerRun(100, func() {
				for _, key := range keys {
					p.Pick(key, avoid)
				}
			}); got != 0 {
				t.Errorf("%s avoiding %s: %v allocations", policy, name, got)
			}
		}
	}
}

// For the race detector: sessions come and go while others pick.
func TestPickIsSafeWhileLoadsChange(t *testing.T) {
	backends := mixed(9, 4)
	for _, policy := range Policies() {
		p := mustNew(t, policy, backends, Options{})
		avoid := setOf(0, 8)
		var wg sync.WaitGroup
		var bad atomic.Int64
		for range 4 {
			wg.Go(func() {
				for _, key := range clientKeys(500) {
					at := p.Pick(key, avoid)
					if at < 1 || at > 7 {
						bad.Store(int64(at))
						return
					}
					backends[at].Load.Add(1)
					p.Digest()
					backends[at].Load.Add(-1)
				}
			})
		}
		wg.Wait()
		if at := bad.Load(); at != 0 {
			t.Errorf("%s picked %d", policy, at)
		}
	}
}

func FuzzPickIsValidForAnySet(f *testing.F) {
	f.Add(byte(0), []byte{1, 1, 1}, []byte{0}, uint64(0))
	f.Add(byte(4), []byte{255, 0, 3, 9}, []byte{0b1010}, ^uint64(0))
	f.Add(byte(5), []byte{7}, []byte{1}, uint64(1)<<63)
	f.Add(byte(3), make([]byte, 70), []byte{255, 255, 255, 255, 255, 255, 255, 255, 31}, uint64(5))
	f.Fuzz(func(t *testing.T, which byte, weights, mask []byte, key uint64) {
		if len(weights) == 0 || len(weights) > 100 {
			t.Skip()
		}
		backends := make([]Backend, len(weights))
		for i, w := range weights {
			backends[i] = Backend{ID: fmt.Sprint(i), Weight: int(w) + 1, Load: new(atomic.Int64)}
			backends[i].Load.Store(int64(w) * int64(i%3))
		}
		avoid := NewSet(0)
		for i := range len(mask) * 8 {
			if mask[i/8]&(1<<(i%8)) != 0 {
				avoid.Add(i)
			}
		}
		left := 0
		for i := range backends {
			if !avoid.Has(i) {
				left++
			}
		}
		policy := Policies()[int(which)%len(Policies())]
		p := mustNew(t, policy, backends, Options{RingPoints: 3})
		for range 3 {
			at := p.Pick(key, avoid)
			if (at == -1) != (left == 0) || at < -1 || at >= len(backends) || avoid.Has(at) {
				t.Fatalf("%s over %v avoiding %x picked %d", policy, weights, mask, at)
			}
			key *= golden
		}
	})
}
