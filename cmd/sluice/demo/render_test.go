package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4"
)

func examplePicture() picture {
	return picture{
		rows: []row{
			{"alice", "up", 83 * time.Second, 1, 512, 0.52, "2 probes in a row passed, and whatever else a probe said"},
			{"bob", "ejected", 1900 * time.Millisecond, 0, 408, 0.48, "connection refused (1 failed in a row), ejected for 5s"},
			{"carol", "down", 2 * time.Hour, 12, 123456, 0, "http: status 503, want 200-399 (2 of 2 failed)"},
		},
		tally: tally{
			sent: 925, ok: 920, failed: 5,
			last: failure{17, `an answer of no backend: 502 Bad Gateway, "what somebody else had to say on this port"`, 3 * time.Millisecond},
		},
		chaos: "chaos: 3 kills, 2 revivals (seed 7)",
	}
}

func TestTheDisplayFitsEightyColumns(t *testing.T) {
	want := []string{
		"",
		"backend state       now  total  last 5s        why",
		"alice   up       1m   1    512  ####      52%  2 probes in a row passed, and...",
		"bob     ejected  1s   0    408  ####      48%  connection refused",
		"carol   down     2h  12 123456             0%  http: status 503, want 200-399",
		"",
		"requests: 925 sent, 920 ok, 5 failed",
		"chaos: 3 kills, 2 revivals (seed 7)",
		"last failure: request 17 after 3ms: an answer of no backend: 502 Bad Gateway,",
		"  \"what somebody else had to say on this port\"",
	}
	got := examplePicture().draw(false)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, l := range got {
		if len(l) > width {
			t.Errorf("%d columns: %q", len(l), l)
		}
	}
}

func TestColorsChangeNothingButColors(t *testing.T) {
	colored := strings.Join(examplePicture().draw(true), "\n")
	for _, want := range []string{"\x1b[32mup ", "\x1b[33mejected ", "\x1b[31mdown "} {
		if !strings.Contains(colored, want) {
			t.Errorf("%q is missing in\n%q", want, colored)
		}
	}
	bare := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(colored)
	if plain := strings.Join(examplePicture().draw(false), "\n"); bare != plain {
		t.Errorf("got\n%s\nwant\n%s", bare, plain)
	}
}

func TestABackendThatIsDownIsNotCalledEjected(t *testing.T) {
	now := time.Now()
	for want, b := range map[string]l4.BackendStats{
		"up":      {Health: l4.Up},
		"unknown": {},
		"ejected": {Health: l4.Up, Ejected: true},
		"down":    {Health: l4.Down, Ejected: true},
	} {
		b.Since = now.Add(-3 * time.Second)
		if r := rowOf(b, 0, now); r.status != want || r.age != 3*time.Second {
			t.Errorf("got %q since %v, want %q", r.status, r.age, want)
		}
	}
}

func TestSharesAreThoseOfTheLastFiveSeconds(t *testing.T) {
	var r recent
	stats := func(a, b int64) []l4.BackendStats {
		return []l4.BackendStats{{Name: "a", Total: a}, {Name: "b", Total: b}}
	}
	if got := r.add(stats(0, 0)); got["a"] != 0 || got["b"] != 0 {
		t.Errorf("shares of nothing: %v", got)
	}
	if got := r.add(stats(30, 10)); got["a"] != 0.75 || got["b"] != 0.25 {
		t.Errorf("got %v, want 0.75 and 0.25", got)
	}
	for i := range int64(recentSamples) {
		r.add(stats(30, 11+i))
	}
	if got := r.add(stats(30, 100)); got["a"] != 0 || got["b"] != 1 {
		t.Errorf("got %v: sessions of long ago count", got)
	}
	if len(r.samples) > recentSamples+1 {
		t.Errorf("%d samples kept", len(r.samples))
	}
}
