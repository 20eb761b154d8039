package picker

import "testing"

func TestFirstFallsBackInTheGivenOrder(t *testing.T) {
	tests := []struct {
		name  string
		avoid *Set
		want  int
	}{
		{"nothing avoided", nil, 0},
		{"empty set", NewSet(4), 0},
		{"first avoided", setOf(0), 1},
		{"first two avoided", setOf(0, 1), 2},
		{"a later one avoided", setOf(2), 0},
		{"only the last left", setOf(0, 1, 2), 3},
		{"all avoided", setOf(0, 1, 2, 3), -1},
	}
	// IDs in falling order and great weights at the end: neither counts.
	backends := []Backend{{ID: "d", Weight: 1}, {ID: "c", Weight: 2}, {ID: "b", Weight: 3}, {ID: "a", Weight: 256}}
	p := mustNew(t, First, backends, Options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, key := range clientKeys(10) {
				if got := p.Pick(key, test.avoid); got != test.want {
					t.Errorf("picked %d, want %d", got, test.want)
				}
			}
		})
	}
}

func TestFirstHasTheDigestOfItsOrderNotOfItsWeights(t *testing.T) {
	base := mustNew(t, First, weighted(1, 2), Options{}).Digest()
	if mustNew(t, First, weighted(2, 1), Options{}).Digest() != base {
		t.Error("weights count")
	}
	turned := []Backend{{ID: "B2", Weight: 2}, {ID: "B1", Weight: 1}}
	if mustNew(t, First, turned, Options{}).Digest() == base {
		t.Error("the order does not count")
	}
}
