package picker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"
)

// weighted names backends B1, B2 and so on, one for each weight.
func weighted(weights ...int) []Backend {
	backends := make([]Backend, len(weights))
	for i, w := range weights {
		backends[i] = Backend{ID: fmt.Sprintf("B%d", i+1), Weight: w, Load: new(atomic.Int64)}
	}
	return backends
}

// equal is n backends of weight 1.
func equal(n int) []Backend {
	weights := make([]int, n)
	for i := range weights {
		weights[i] = 1
	}
	return weighted(weights...)
}

// mixed is n backends with random weights from 1 to most, the same on every run.
func mixed(n, most int) []Backend {
	r := rand.New(rand.NewPCG(uint64(n), uint64(most)))
	weights := make([]int, n)
	for i := range weights {
		weights[i] = 1 + r.IntN(most)
	}
	return weighted(weights...)
}

func withLoads(backends []Backend, loads ...int64) []Backend {
	for i, load := range loads {
		backends[i].Load.Store(load)
	}
	return backends
}

func without(backends []Backend, ids ...string) []Backend {
	var rest []Backend
next:
	for _, b := range backends {
		for _, id := range ids {
			if b.ID == id {
				continue next
			}
		}
		rest = append(rest, b)
	}
	return rest
}

func shuffled(backends []Backend, seed uint64) []Backend {
	list := append([]Backend(nil), backends...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) {
		list[i], list[j] = list[j], list[i]
	})
	return list
}

func setOf(indexes ...int) *Set {
	s := NewSet(0)
	for _, i := range indexes {
		s.Add(i)
	}
	return s
}

func mustNew(tb testing.TB, policy string, backends []Backend, opt Options) Picker {
	tb.Helper()
	p, err := New(policy, backends, opt)
	if err != nil {
		tb.Fatalf("New(%s): %v", policy, err)
	}
	return p
}

// clientKeys is the keys of n neighbouring addresses, the hardest input for a
// hash: they differ in the last bits only.
func clientKeys(n int) []uint64 {
	keys := make([]uint64, n)
	addr := netip.MustParseAddr("10.0.0.1")
	for i := range keys {
		keys[i] = Hash(addr)
		addr = addr.Next()
	}
	return keys
}

// homes is the ID picked for each key.
func homes(p Picker, backends []Backend, keys []uint64, avoid *Set) []string {
	ids := make([]string, len(keys))
	for i, key := range keys {
		if at := p.Pick(key, avoid); at >= 0 {
			ids[i] = backends[at].ID
		}
	}
	return ids
}

// shares is the fraction of picks that each of n backends got.
func shares(p Picker, n, picks int, avoid *Set) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	counts := make([]float64, n)
	for range picks {
		counts[p.Pick(r.Uint64(), avoid)] += 1 / float64(picks)
	}
	return counts
}

// wantShares compares shares with what the weights of the backends not in avoid
// ask for. The tolerance is absolute.
func wantShares(t *testing.T, got []float64, backends []Backend, avoid *Set, tolerance float64) {
	t.Helper()
	sum := 0
	for i, b := range backends {
		if !avoid.Has(i) {
			sum += b.Weight
		}
	}
	for i, b := range backends {
		want := 0.0
		if !avoid.Has(i) {
			want = float64(b.Weight) / float64(sum)
		}
		if math.Abs(got[i]-want) > tolerance {
			t.Errorf("%s has a share of %.4f, want %.4f±%.4f", b.ID, got[i], want, tolerance)
		}
	}
}
