package failover

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/report"
)

func text(t *testing.T, table report.Table) string {
	t.Helper()
	var b strings.Builder
	if err := table.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesForThreeBalancersFitATerminal(t *testing.T) {
	r := sample(3)
	for i := range r.Runs { // as wide as figures of ten seconds get
		r.Runs[i].Values["worst_ms"] = float64(2500 * r.Runs[i].Round)
		r.Runs[i].Values["failed"] = float64(1500 * r.Runs[i].Round)
	}
	for name, table := range map[string]report.Table{"overview": r.Overview(), "table": r.Table()} {
		for line := range strings.Lines(text(t, table)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestTheTableSaysWhatDiffersAndLeavesOutWhatIsZero(t *testing.T) {
	r := &Result{Rounds: 3, Balancers: []Balancer{{Name: "a"}, {Name: "b"}}, Faults: []string{"kill", "mute"}}
	for round, failed := range []float64{4, 9, 5} {
		r.Runs = append(r.Runs,
			Run{Balancer: "a", Fault: "kill", Round: round + 1, Values: map[string]float64{"attempts": 100, "failed": failed, "failed_reset": failed, "worst_ms": 12.4, "recover_never": 1, "moved_share": 0.25, "late_50": 0}},
			Run{Balancer: "b", Fault: "kill", Round: round + 1, Values: map[string]float64{"attempts": 100, "failed": 0, "worst_ms": 12.2, "recover_ms": 700, "late_50": 0}})
	}
	r.Runs[5].Values = map[string]float64{"failed": 0, "worst_ms": 12.2, "recover_never": 1}
	want := `
                                a          b
killed (kill)
  failed                     5  4–9        0
  reset                      5  4–9        0
  worst delay     ms        12            12
  to recover      ms     never           700  700–never
  hashed moved             25%             –

mute
  failed                     –             –
  worst delay     ms         –             –
`
	if got := "\n" + text(t, r.Table()); squeeze(got) != squeeze(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// squeeze makes one space of several, so that widths do not matter.
func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestTheBestIsMarkedUnlessAllAreAlike(t *testing.T) {
	tests := []struct {
		name          string
		failed, worst []float64 // of a, b, c; less than 0 = not measured
		want          string
	}{
		{"fewest failed", []float64{0, 10, 20}, []float64{900, 5, 5}, "a"},
		{"two clients are no difference, so delay decides", []float64{0, 2, 20}, []float64{900, 5, 5}, "b"},
		{"20 ms are none either", []float64{0, 0, 20}, []float64{25, 5, 5}, "a b"},
		{"all alike", []float64{0, 1, 2}, []float64{5, 10, 15}, ""},
		{"a tenth is none", []float64{1000, 1090, 2000}, []float64{5, 5, 5}, "a b"},
		{"one is not measured", []float64{0, 10, -1}, []float64{5, 5, 5}, "a"},
		{"only one is", []float64{0, -1, -1}, []float64{5, 5, 5}, ""},
	}
	for _, tt := range tests {
		r := &Result{Rounds: 1, Balancers: []Balancer{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Faults: []string{"kill"}}
		for i, name := range r.names() {
			if tt.failed[i] >= 0 {
				r.Runs = append(r.Runs, Run{Balancer: name, Fault: "kill", Round: 1, Values: map[string]float64{"failed": tt.failed[i], "worst_ms": tt.worst[i]}})
			}
		}
		var got []string
		for i, f := range r.Overview().Rows[0].Figures {
			if f.Ratio == "best" {
				got = append(got, r.names()[i])
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWhatDisturbedARunIsAWarning(t *testing.T) {
	r := sample(2, fault.Kill)
	if w := r.Warnings(); len(w) > 0 {
		t.Errorf("an undisturbed one warns: %q", w)
	}
	r.Partial, r.Others = "interrupted in round 2 of 2", 0.2
	r.Runs[0].Values["behind_ms"] = 31
	r.Runs[1].Error = "it ended: exit status 3"
	all := strings.Join(r.Warnings(), "\n")
	for _, want := range []string{
		"Partial: interrupted in round 2 of 2.", "Disturbed: other processes used 20%", "in 1 of 6 runs clients began more than 20 ms", "31 ms",
		"Failed: sluice, kill, round 2: it ended: exit status 3",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	if !strings.Contains(r.Legend(), "not all of 2") {
		t.Error("the legend tells of whole rounds")
	}
	if got := r.Summary("sluice", "kill", "failed").N; got != 1 {
		t.Errorf("%d runs count, one of two failed", got)
	}
}

func TestRemarksTellWhatABalancerCannotExpress(t *testing.T) {
	r := sample(1, fault.Kill)
	r.Notes = []string{"A note."}
	if got := r.Remarks(); !slices.Equal(got, []string{"nginx has no active checks.", "A note."}) {
		t.Errorf("%q", got)
	}
}

// written is a page as a file.
func written(t *testing.T, p report.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestThePageHasAChartForEachRun(t *testing.T) {
	r := sample(3, fault.Kill, fault.Mute)
	r.Balancers[0].Name = "<b>"
	for i := range r.Runs {
		if r.Runs[i].Balancer == "sluice" {
			r.Runs[i].Balancer = "<b>"
		}
	}
	html := written(t, r.Page(nil))
	if n := strings.Count(html, "<svg"); n != 2*3*3 {
		t.Errorf("%d charts of 18 runs", n)
	}
	if n := strings.Count(html, `<summary>The other rounds`); n != 2 {
		t.Errorf("%d faults have other rounds", n)
	}
	for _, want := range []string{
		`href="#s0">kill<`, `id="s0">killed (kill)<`, `href="#s1">mute<`, `id="s1">mute<`, "Configuration of &lt;b&gt;", "listen &lt;x&gt;", "to recover",
		"What each figure means", "0 failed <b", `aria-label="nginx: `, "; broken from 2.5 s to 6.0 s of 10.0 s; long: ", "nginx has no active checks.",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, banned := range []string{"<b>:", "><b><", "<script", "http:", "https:", "src=", "url(", "ZgotmplZ", "%!", "NaN"} {
		if strings.Contains(html, banned) {
			t.Errorf("it has %s", banned)
		}
	}
}

func TestAChangeMovesTheOverviewsLinks(t *testing.T) {
	r := sample(1, fault.Kill)
	html := written(t, r.Page(Compare(r, r)))
	for _, want := range []string{`id="s0">What has changed`, `href="#s1">kill<`, `id="s1">killed`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestThePageOfEverythingIsSmall(t *testing.T) {
	r := sample(3)
	for i := range r.Runs { // no two buckets alike
		for k := range r.Runs[i].Buckets {
			b := &r.Runs[i].Buckets[k]
			b.Served, b.Late, b.Failed = 10+k%3, k%4, k%2
			b.Backends = []int{k % 7, k % 5 * 2, k % 3 * 4}
		}
	}
	if n := len(written(t, r.Page(nil))); n > 3_000_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestALongRunIsShownInLongerPieces(t *testing.T) {
	run := Run{Balancer: "a", Length: 10 * 60e9, Values: map[string]float64{}}
	for range 12000 {
		run.Buckets = append(run.Buckets, Bucket{Served: 2, Late: 1, Failed: 1, Backends: []int{2}})
	}
	c := run.timeline(1, 0)
	if len(c.Counts) != mostColumns || c.Bucket != 2.5 || c.Counts[7] != (report.Count{Served: 100, Late: 50, Failed: 50}) || c.Bands[0].Served[239] != 100 {
		t.Errorf("%d pieces of %g s, the seventh %v", len(c.Counts), c.Bucket, c.Counts[7])
	}
	run.Fault = "kill"
	r := Result{Balancers: []Balancer{{Name: "a"}}, Runs: []Run{run}}
	if median, _ := r.timelines("kill"); median[0].Most != 3*50 {
		t.Errorf("%d fill the height of 50 buckets of 3", median[0].Most)
	}
}

func TestTheOtherRoundsStandInColumnsOfBalancers(t *testing.T) {
	r := sample(3, fault.Kill)
	median, rest := r.timelines("kill")
	if len(median) != 3 || len(rest) != 6 {
		t.Fatalf("%d and %d charts", len(median), len(rest))
	}
	for i, c := range rest {
		if name := r.names()[i%3]; median[i%3].Title != name || !strings.HasPrefix(c.Title, name+", round ") {
			t.Errorf("chart %d is %q, below %q", i, c.Title, median[i%3].Title)
		}
	}
}

func TestAnOutageWithoutAnEndLastsUntilTheRunEnds(t *testing.T) {
	run := Run{Length: 10e9, Outages: []Outage{{Backend: 0, From: 2e9, To: 3e9}, {Backend: 1, From: 4e9}}}
	for i, want := range []report.Period{{From: 2, To: 3}, {From: 4, To: 10}} {
		if got := run.band(i, nil).Broken; !slices.Equal(got, []report.Period{want}) {
			t.Errorf("backend %d: %v, want %v", i, got, want)
		}
	}
}

func TestTheMedianRunIsShown(t *testing.T) {
	r := &Result{Rounds: 4, Balancers: []Balancer{{Name: "a"}}, Faults: []string{"kill"}}
	for i, v := range []struct {
		failed, worst float64
		err           string
	}{{9, 1, ""}, {2, 50, ""}, {2, 10, ""}, {0, 0, "it ended"}} {
		r.Runs = append(r.Runs, Run{Balancer: "a", Fault: "kill", Round: i + 1, Error: v.err, Values: map[string]float64{"failed": v.failed, "worst_ms": v.worst}})
	}
	runs := r.runs("a", "kill")
	if got := runs[middle(runs)].Round; got != 2 {
		t.Errorf("round %d", got)
	}
	if got := runs[3].Round; got != 4 {
		t.Errorf("round %d is last, though another was not measured", got)
	}
	if got := middle(append(runs[2:], runs[3], runs[3])); got != 0 {
		t.Errorf("of one that was measured and three that were not: %d", got)
	}
	if got := middle(runs[3:]); got != 0 {
		t.Errorf("of one that was not measured: %d", got)
	}
}

func TestLongSessionsAreShownWhileTheyAreStuckAndWhenTheyEnd(t *testing.T) {
	run := Run{Length: 200e6, Buckets: make([]Bucket, 4), Values: map[string]float64{"stuck": 1, "stuck_ms": 700, "lost_alive": 1}, Talks: []TalkEnd{
		{Ended: 200e6, StuckAt: 60e6, Stuck: 70e6}, {Ended: 110e6, Failure: "reset"}, {Began: 110e6, Ended: 200e6},
	}}
	c := run.timeline(0, 0)
	if !slices.Equal(c.Stuck, []int{0, 1, 1, 0}) || !slices.Equal(c.Ended, []int{0, 0, 1, 0}) || c.Held != 3 {
		t.Errorf("stuck %v, ended %v, held %d", c.Stuck, c.Ended, c.Held)
	}
	if want := "long: 1 ended (1 alive), 1 stuck up to 0.7 s"; c.HeldText != want {
		t.Errorf("%q, want %q", c.HeldText, want)
	}
}

func TestAResultOfAnObservedSystemIsShown(t *testing.T) {
	r := &Result{Rounds: 1, Rate: 10, Balancers: []Balancer{{Name: "127.0.0.1:80"}}, Faults: []string{Observed}, Runs: []Run{
		{Balancer: "127.0.0.1:80", Fault: Observed, Round: 1, Length: 1e9, Values: map[string]float64{"attempts": 10, "failed": 1, "worst_ms": 3}, Buckets: make([]Bucket, 20)},
	}}
	if html := written(t, r.Page(nil)); !strings.Contains(html, "observed") || strings.Contains(html, ">fault<") {
		t.Error("it is not, or a fault is marked")
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	r := sample(1, fault.Kill)
	c := Compare(r, edited("sluice", func(run *Run) { run.Values["failed"] = 1000 }))
	if err := r.Page(c).Write(failing{}); !errors.Is(err, errFull) {
		t.Errorf("page: %v", err)
	}
	if err := c.WriteText(failing{}, false); !errors.Is(err, errFull) {
		t.Errorf("comparison: %v", err)
	}
}
