package health

import "testing"

// TestStreakChangesStateOnlyAfterEnoughInARow feeds results ('+' passed, '-' failed) and
// writes the state after each: 'u' up, 'd' down, capital where it changed.
func TestStreakChangesStateOnlyAfterEnoughInARow(t *testing.T) {
	tests := []struct {
		name       string
		rise, fall int
		results    string
		want       string
	}{
		{"the first result decides: pass", 2, 3, "+", "U"},
		{"the first result decides: failure", 2, 3, "-", "D"},
		{"falls after fall failures", 2, 3, "+---", "UuuD"},
		{"a pass in between starts the count anew", 2, 3, "+--+---", "UuuuuuD"},
		{"rises after rise passes", 2, 3, "-++", "DdU"},
		{"a failure in between starts the count anew", 2, 3, "-+-++", "DdddU"},
		{"one failure of three never takes down", 2, 2, "++-++-++-++-", "Uuuuuuuuuuuu"},
		{"two in a row take down, two bring back", 2, 2, "+--+-++", "UuDdddU"},
		{"rise and fall 1 follow every result", 1, 1, "+-+-", "UDUD"},
		{"the passes that brought it up do not count against it", 3, 2, "-+++--", "DddUuD"},
		{"stays down", 2, 3, "-------", "Ddddddd"},
		{"stays up", 2, 3, "+++++++", "Uuuuuuu"},
	}
	letters := map[State][2]string{Up: {"u", "U"}, Down: {"d", "D"}, Unknown: {"?", "!"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s streak
			got := ""
			for _, r := range tt.results {
				next, changed := s.next(r == '+', tt.rise, tt.fall)
				if changed != (next.state != s.state) {
					t.Fatalf("from %v to %v, changed is %v", s.state, next.state, changed)
				}
				s = next
				letter := letters[s.state]
				if changed {
					got += letter[1]
				} else {
					got += letter[0]
				}
				if s.failing() != (r == '-') {
					t.Fatalf("after %q failing is %v", r, s.failing())
				}
			}
			if got != tt.want {
				t.Errorf("results %s gave %s, want %s", tt.results, got, tt.want)
			}
		})
	}
}

func TestStreakCountsResultsInARow(t *testing.T) {
	var s streak
	if s.failing() {
		t.Error("without a result it is failing")
	}
	for i, want := range []int{1, 2, 1, 2, 3, 1} {
		s, _ = s.next("++---+"[i] == '+', 2, 3)
		if s.run != want {
			t.Errorf("after result %d run is %d, want %d", i+1, s.run, want)
		}
	}
}

func TestNamesOfStatesAndSources(t *testing.T) {
	for s, want := range map[State]string{Unknown: "unknown", Up: "up", Down: "down"} {
		if s.String() != want {
			t.Errorf("%d is %q, want %q", s, s, want)
		}
	}
	for s, want := range map[Source]string{SourceProbe: "probe", SourceDial: "dial"} {
		if s.String() != want {
			t.Errorf("%d is %q, want %q", s, s, want)
		}
	}
}
