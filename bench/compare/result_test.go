package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/proc"
)

func TestMediansAndSpreads(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Summary
		spread float64
	}{
		{"none", nil, Summary{}, 0},
		{"one", []float64{7}, Summary{7, 7, 7, 1}, 0},
		{"two", []float64{3, 1}, Summary{2, 1, 3, 2}, 0.5},
		{"odd", []float64{9, 1, 4}, Summary{4, 1, 9, 3}, 1},
		{"even", []float64{4, 1, 2, 9}, Summary{3, 1, 9, 4}, 4.0 / 3},
		{"equal", []float64{2, 2, 2}, Summary{2, 2, 2, 3}, 0},
		{"around zero", []float64{-1, 0, 1}, Summary{0, -1, 1, 3}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := summarise(tt.values)
			if got != tt.want || math.Abs(got.Spread()-tt.spread) > 1e-12 {
				t.Errorf("%+v, spread %v", got, got.Spread())
			}
		})
	}
}

// example is a result of two rounds in which haproxy had failures and nginx no values.
func example() *Result {
	r := &Result{
		Started: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Seconds: 61, Rounds: 2, Rate: 9000, Sessions: 3000, Base: "sluice",
		Machine: proc.Machine{System: "linux/amd64", Kernel: "6.18", CPU: "a CPU", Cores: 2, Go: "go1.26"}, Backends: []string{"redis"},
	}
	for _, s := range three() {
		r.Balancers = append(r.Balancers, Balancer{Name: s.Name, Kind: s.Kind, Version: s.Name + " 1.0", Config: "# of " + s.Name})
	}
	add := func(round int, w Workload, name string, values map[string]float64) {
		r.Samples = append(r.Samples, Sample{Round: round, Workload: w, Balancer: name, Values: values})
	}
	for round, factor := range map[int]float64{1: 0.9, 2: 1.1} {
		add(round, Connection, "sluice", map[string]float64{"cpu_us": 100 * factor, "rate": 5000 * factor})
		add(round, Connection, "haproxy", map[string]float64{"cpu_us": 160 * factor, "rate": 4000 * factor})
		add(round, Connection, Direct, map[string]float64{"rate": 20_000 * factor})
		add(round, Latency, "sluice", map[string]float64{"p50_us": 100 * factor, "p99_us": 900 * factor, "max_us": 2000 * factor})
	}
	r.Samples[1].Failures = map[string]int64{"reset": 3, "refused": 1}
	r.Samples[1].Error = "read: connection reset"
	r.Samples = append(r.Samples, Sample{Round: 1, Workload: Connection, Balancer: "nginx", Error: "nothing was done"})
	return r
}

// metric is one by its title.
func metric(t *testing.T, title string) Metric {
	t.Helper()
	for _, m := range Metrics() {
		if m.Title == title {
			return m
		}
	}
	t.Fatalf("no metric %q", title)
	return Metric{}
}

func TestRatiosAreToTheBase(t *testing.T) {
	r, m := example(), metric(t, "CPU a connection")
	tests := []struct {
		name string
		want float64
		ok   bool
	}{{"sluice", 1, true}, {"haproxy", 1.6, true}, {"nginx", 0, false}, {Direct, 0, false}, {"nobody", 0, false}}
	for _, tt := range tests {
		if got, ok := r.Ratio(tt.name, m); ok != tt.ok || math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, %v", tt.name, got, ok)
		}
	}
	r.Base = "nginx"
	if got, ok := r.Ratio("haproxy", m); ok {
		t.Errorf("to one that has no value: %v", got)
	}
}

func TestTheBaseIsTheFirstSluiceOrElseTheFirst(t *testing.T) {
	s := three()
	old := balancer.Spec{Kind: balancer.Sluice, Name: "old"}
	for _, tt := range []struct {
		specs []balancer.Spec
		want  string
	}{
		{s, "sluice"},
		{[]balancer.Spec{s[1], s[2]}, "haproxy"},
		{[]balancer.Spec{s[2], old, s[0]}, "old"},
	} {
		if got := baseOf(tt.specs); got != tt.want {
			t.Errorf("%v: %s", tt.specs, got)
		}
	}
}

func TestTheTableShowsWhatWasMeasuredAndFlagsWhatFailed(t *testing.T) {
	var b bytes.Buffer
	if err := example().Table().WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"                           sluice             haproxy   nginx        direct",
		"CPU a connection µs     100  ±10%     160! ±10% 1.60×     –!       –",
		"connections      /s   5,000  ±10%   4,000! ±10% 0.80×     –!  20,000  ±10% 4.00×",
	}, "\n")
	got := strings.Join(strings.Fields(b.String()), " ")
	for line := range strings.Lines(want) {
		if line := strings.Join(strings.Fields(line), " "); !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
	if !strings.Contains(got, "latency, 99 % µs 900 ±10% – – –") || strings.Contains(got, "99.9") || strings.Contains(got, "idle") {
		t.Errorf("got\n%s", b.String())
	}
}

func TestWarningsTellWhatFailedAndWhatIsMissing(t *testing.T) {
	r := example()
	r.Partial, r.Others = "interrupted in round 2 of 3", 0.434
	got := strings.Join(r.Warnings(), "\n")
	want := "Partial: interrupted in round 2 of 3.\n" +
		"Disturbed: other processes used 43% of the machine's CPU time; rates and latencies are theirs as much as the balancers'.\n" +
		"haproxy failed in connection: 1 refused, 3 reset, first: read: connection reset\n" +
		"nginx failed in connection: first: nothing was done"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if w := (&Result{Others: 0.049}).Warnings(); len(w) != 0 {
		t.Errorf("of nothing: %q", w)
	}
}

func TestThePageHasATableChartsAndConfigurations(t *testing.T) {
	var b bytes.Buffer
	r := example()
	r.Command = []string{"l4bench", "compare"}
	r.Notes = []string{"Something to know."}
	if err := r.Page().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"CPU a connection", "1.60×", "# of nginx", "l4bench compare", "Something to know.", "Latency at a fixed rate", "2 cores",
		"haproxy failed in connection", "9,000 requests a second",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(b.String(), "<svg"); n != 3 { // two metrics, and the percentiles
		t.Errorf("%d charts", n)
	}
}

func TestColorsDifferAndDirectIsAlwaysGrey(t *testing.T) {
	for n := range 5 {
		r := &Result{Balancers: make([]Balancer, n)}
		seen := map[int]bool{}
		for i := range n + 1 {
			if seen[r.color(i)] {
				t.Errorf("%d balancers: color %d twice", n, r.color(i))
			}
			seen[r.color(i)] = true
		}
		if r.color(n) != colorOfDirect {
			t.Errorf("%d balancers: direct has color %d", n, r.color(n))
		}
	}
}

func TestAResultSurvivesJSON(t *testing.T) {
	text, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v\n%s\n%s", err, text, again)
	}
	for _, want := range []string{`"machine":{`, `"cores":2`, `"workload":"connection"`, `"cpu_us":`, `"failures":{"refused":1,"reset":3}`, `"rate":9000`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}
