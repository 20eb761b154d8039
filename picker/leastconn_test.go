package picker

import "testing"

func TestLeastConnTakesTheLeastLoadForTheWeight(t *testing.T) {
	tests := []struct {
		name    string
		weights []int
		loads   []int64
		avoid   *Set
		want    int
	}{
		{"fewest sessions", []int{1, 1, 1}, []int64{5, 3, 4}, nil, 1},
		{"weight counts", []int{1, 4}, []int64{1, 6}, nil, 1},         // 2/1 against 7/4
		{"the next session counts", []int{1, 2}, nil, nil, 1},         // 1/1 against 1/2
		{"not only the quotient", []int{3, 2}, []int64{3, 2}, nil, 0}, // 4/3 against 3/2
		{"best avoided", []int{1, 1, 1}, []int64{5, 3, 4}, setOf(1), 2},
		{"first avoided", []int{1, 1, 1}, []int64{0, 3, 4}, setOf(0), 1},
		{"all avoided", []int{1, 1}, []int64{0, 0}, setOf(0, 1), -1},
		{"great numbers do not overflow", []int{256, 255}, []int64{1 << 53, 1<<53 - 1<<40}, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := mustNew(t, LeastConn, withLoads(weighted(test.weights...), test.loads...), Options{})
			for range 20 {
				if got := p.Pick(0, test.avoid); got != test.want {
					t.Errorf("picked %d, want %d", got, test.want)
				}
			}
		})
	}
}

func TestLeastConnBreaksTiesEvenlyAtRandom(t *testing.T) {
	tests := []struct {
		name    string
		weights []int
		loads   []int64
		avoid   *Set
		tied    []int
	}{
		{"all idle", []int{1, 1, 1, 1}, nil, nil, []int{0, 1, 2, 3}},
		{"a better one in the middle", []int{1, 1, 1, 1}, []int64{2, 1, 3, 1}, nil, []int{1, 3}},
		{"equal by weight", []int{1, 2, 4}, []int64{0, 1, 3}, nil, []int{0, 1, 2}},
		{"one of them avoided", []int{1, 1, 1}, nil, setOf(1), []int{0, 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			backends := withLoads(weighted(test.weights...), test.loads...)
			got := shares(mustNew(t, LeastConn, backends, Options{}), len(backends), 8000, test.avoid)
			want := make([]float64, len(backends))
			for _, i := range test.tied {
				want[i] = 1 / float64(len(test.tied))
			}
			for i := range want {
				// Eight times the standard deviation of a share.
				if d := got[i] - want[i]; d < -0.045 || d > 0.045 || want[i] == 0 && got[i] > 0 {
					t.Errorf("backend %d has %.3f of the picks, want %.3f", i, got[i], want[i])
				}
			}
		})
	}
}

func TestLeastConnLevelsLoadsByWeight(t *testing.T) {
	backends := weighted(1, 2, 3, 4)
	p := mustNew(t, LeastConn, backends, Options{})
	for range 1000 {
		backends[p.Pick(0, nil)].Load.Add(1)
	}
	for i, b := range backends {
		if got, want := b.Load.Load(), int64(100*(i+1)); got < want-1 || got > want+1 {
			t.Errorf("%s has %d sessions, want %d", b.ID, got, want)
		}
	}
}

// What the package documentation warns of: the caller has to ramp the weight.
func TestLeastConnWithoutARampGivesANewcomerEverySession(t *testing.T) {
	backends := withLoads(weighted(100, 100, 100), 100, 100, 0)
	p := mustNew(t, LeastConn, backends, Options{})
	for k := range 60 {
		at := p.Pick(0, nil)
		if at != 2 {
			t.Fatalf("session %d went to %s", k, backends[at].ID)
		}
		backends[at].Load.Add(1)
	}
	backends = withLoads(weighted(100, 100, 10), 100, 100, 0)
	p = mustNew(t, LeastConn, backends, Options{})
	for range 60 {
		backends[p.Pick(0, nil)].Load.Add(1)
	}
	if got := backends[2].Load.Load(); got < 8 || got > 14 {
		t.Errorf("at a tenth of the weight the newcomer got %d of 60", got)
	}
}

func TestLeastConnFollowsCountersThatSurviveARebuild(t *testing.T) {
	backends := withLoads(equal(3), 4, 2, 3)
	smaller := without(backends, "B2")
	p := mustNew(t, LeastConn, smaller, Options{})
	if at := p.Pick(0, nil); smaller[at].ID != "B3" {
		t.Errorf("picked %s, want B3", smaller[at].ID)
	}
	backends[2].Load.Add(5)
	if at := p.Pick(0, nil); smaller[at].ID != "B1" {
		t.Errorf("picked %s, want B1 after B3 filled up", smaller[at].ID)
	}
}
