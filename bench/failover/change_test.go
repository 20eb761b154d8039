package failover

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/fault"
)

// rounds is a result of one balancer and fault with one figure, by round; a value less
// than 0 is never.
func rounds(key string, values ...float64) *Result {
	r := &Result{Rounds: 3, Balancers: []Balancer{{Name: "a", Version: "1"}}, Faults: []string{"kill"}}
	for i, v := range values {
		run := Run{Balancer: "a", Fault: "kill", Round: i + 1, Values: map[string]float64{"failed": 0, key: v}}
		if v < 0 {
			run.Values = map[string]float64{"failed": 0, strings.TrimSuffix(key, "_ms") + "_never": 1}
		}
		r.Runs = append(r.Runs, run)
	}
	return r
}

func TestOnlyWhatIsBeyondTheSpreadHasChanged(t *testing.T) {
	tests := []struct {
		name, key string
		old, new  []float64
		want      string // better, worse, or nothing
	}{
		{"the same", "failed", []float64{3, 4, 5}, []float64{3, 4, 5}, ""},
		{"more", "failed", []float64{3, 4, 5}, []float64{9, 8, 7}, "worse"},
		{"fewer", "failed", []float64{9, 8, 7}, []float64{3, 4, 5}, "better"},
		{"ranges touch", "failed", []float64{3, 4, 7}, []float64{9, 8, 7}, ""},
		{"two clients", "failed", []float64{0, 0, 0}, []float64{2, 2, 2}, ""},
		{"three clients", "failed", []float64{0, 0, 0}, []float64{3, 3, 3}, "worse"},
		{"a tenth", "failed", []float64{100, 100, 100}, []float64{110, 110, 110}, ""},
		{"more than a tenth", "failed", []float64{100, 100, 100}, []float64{111, 111, 111}, "worse"},
		{"20 ms", "worst_ms", []float64{1}, []float64{21}, ""},
		{"more than 20 ms", "worst_ms", []float64{1}, []float64{22}, "worse"},
		{"a few points of a share", "moved_share", []float64{0.01}, []float64{0.05}, ""},
		{"many", "moved_share", []float64{0.5, 0.5}, []float64{0, 0}, "better"},
		{"never before", "recover_ms", []float64{-1, -1, -1}, []float64{500, 600, 700}, "better"},
		{"never now", "recover_ms", []float64{500, 600, 700}, []float64{-1, -1, -1}, "worse"},
		{"never at all", "recover_ms", []float64{-1, -1}, []float64{-1, -1}, ""},
		{"never now and then", "recover_ms", []float64{500, 600, -1}, []float64{-1, -1, -1}, ""},
	}
	for _, tt := range tests {
		c := Compare(rounds(tt.key, tt.old...), rounds(tt.key, tt.new...))
		got := ""
		for _, v := range c.Changes {
			if v.Metric.Key != tt.key {
				t.Errorf("%s: %s has changed", tt.name, v.Metric.Key)
			}
			if got = "worse"; v.Better() {
				got = "better"
			}
		}
		if got != tt.want || len(c.Missing) > 0 {
			t.Errorf("%s: %q, want %q; missing %q", tt.name, got, tt.want, c.Missing)
		}
	}
}

func TestAComparisonSaysFirstWhatWasNotEqual(t *testing.T) {
	old, now := sample(3, fault.Kill, fault.Stop), sample(2, fault.Kill, fault.Mute)
	now.Rate, now.Backends, now.Talks, now.Hashed, now.Machine.Cores, now.Partial = 250, 4, 10, 20, 64, "interrupted"
	now.Balancers[0].Version = "sluice 2"
	now.Balancers[2].Name = "other"
	for i := range now.Runs {
		now.Runs[i].Length *= 2
		delete(now.Runs[i].Values, "imbalance")
		if now.Runs[i].Balancer == "nginx" {
			now.Runs[i].Balancer = "other"
		}
	}
	var b strings.Builder
	if err := Compare(old, now).WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, want := range []string{
		"Other rate: 500/s then, 250/s now.", "Other duration of a run: 10s then, 20s now.", "Other number of backends: 3 then, 4 now.",
		"Other number of long sessions: 30 then, 10 now.", "Other number of hashed clients: 60 then, 20 now.", "Other number of rounds: 3 then, 2 now.",
		"Other machine: 2 cores", "Other version of sluice: sluice 1.2 then, sluice 2 now.", "The present result: Partial: interrupted.",
		"Only the present result has balancer other.", "Only the earlier result has balancer nginx.",
		"Only the present result has fault mute.", "Only the earlier result has fault stop.",
		`Only the earlier result has a value of "imbalance" of sluice in kill, "imbalance" of haproxy in kill.`, "Since 2030-01-02",
	} {
		i := strings.Index(b.String(), want)
		if i <= at {
			t.Errorf("not there, or not in order: %s\n%s", want, b.String())
		}
		at = i
	}
}

func TestRunsThatFailedAreMissing(t *testing.T) {
	old, now := sample(1, fault.Kill), sample(1, fault.Kill)
	now.Runs[1].Error = "it ended"
	c := Compare(old, now)
	if len(c.Changes) > 0 {
		t.Errorf("what is missing has changed: %v", c.Changes)
	}
	if got := strings.Join(c.Missing, "\n"); got != "Only the earlier result has runs of haproxy in kill." {
		t.Errorf("%q", got)
	}
}

func TestAChangeIsATableRow(t *testing.T) {
	old := edited("nginx", func(run *Run) { run.Values["failed"] += 1000 })
	now := edited("sluice", func(run *Run) { run.Values["worst_ms"] = float64(600 + run.Round) })
	got := squeeze(text(t, Compare(old, now).Table()))
	for _, want := range []string{"sluice, kill: worst delay ms 2 602 601–603 WORSE!", "nginx, kill: failed", "better"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if c := Compare(old, old); len(c.Changes) > 0 || c.Compared == 0 {
		t.Errorf("it differs from itself: %v, %d figures compared", c.Changes, c.Compared)
	}
}
