package picker

import (
	"math/rand/v2"
	"testing"
)

func TestNilAndZeroSetsAreEmpty(t *testing.T) {
	for name, s := range map[string]*Set{"nil": nil, "zero": {}, "no room": NewSet(0), "negative": NewSet(-5)} {
		s.Reset()
		if s.Has(0) || s.Has(-1) || s.Has(1000) || s.Len() != 0 {
			t.Errorf("%s: not empty", name)
		}
		if s.free(7) != 7 || s.nthFree(3) != 3 {
			t.Errorf("%s: free(7) = %d, nthFree(3) = %d", name, s.free(7), s.nthFree(3))
		}
	}
}

func TestSetHasWhatWasAdded(t *testing.T) {
	s := NewSet(10)
	for _, i := range []int{0, 9, 9, 63, 64, 300, -1} {
		s.Add(i)
	}
	for i := -2; i < 400; i++ {
		want := i == 0 || i == 9 || i == 63 || i == 64 || i == 300
		if s.Has(i) != want {
			t.Errorf("Has(%d) = %t", i, !want)
		}
	}
	if s.Len() != 5 {
		t.Errorf("Len() = %d, want 5", s.Len())
	}
	s.Reset()
	if s.Len() != 0 || s.Has(0) || s.Has(300) {
		t.Error("Reset left something behind")
	}
}

func TestSetAllocatesOnlyBeyondItsRoom(t *testing.T) {
	s := NewSet(200)
	if got := testing.AllocsPerRun(10, func() {
		s.Reset()
		for i := range 200 {
			s.Add(i)
		}
	}); got != 0 {
		t.Errorf("%v allocations within the room", got)
	}
}

func TestFreeIndexesAreCountedAndFoundInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n, s := 1+r.IntN(200), NewSet(r.IntN(200))
		for range r.IntN(300) {
			s.Add(r.IntN(250))
		}
		var want []int
		for i := range n {
			if !s.Has(i) {
				want = append(want, i)
			}
		}
		if got := s.free(n); got != len(want) {
			t.Fatalf("free(%d) = %d, want %d", n, got, len(want))
		}
		for k, i := range want {
			if got := s.nthFree(k); got != i {
				t.Fatalf("nthFree(%d) = %d, want %d", k, got, i)
			}
		}
		index, done := s.sole(n)
		switch {
		case len(want) == 0 && (index != -1 || !done),
			len(want) == 1 && (index != want[0] || !done),
			len(want) > 1 && done:
			t.Fatalf("sole(%d) = %d, %t with %d free", n, index, done, len(want))
		}
	}
}
