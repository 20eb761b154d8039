package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/proc"
)

// Direct is the name of the connection without a balancer.
const Direct = "direct"

// Result is what a run found. Its tags are the JSON report's format.
type Result struct {
	Started time.Time `json:"started"`
	// Seconds is how long the run took.
	Seconds float64 `json:"seconds"`
	// Command is the command line; whoever ran it fills it in.
	Command []string     `json:"command,omitempty"`
	Machine proc.Machine `json:"machine"`
	// Partial is why the run ended before its end; empty if it did not.
	Partial string `json:"partial,omitempty"`
	// Others is the share of the machine's CPU time, from 0 to 1, that went to processes
	// that had no part in the run.
	Others float64 `json:"others"`
	// Rounds is how many were planned.
	Rounds int `json:"rounds"`
	// Rate is that of the latency workload in requests a second; 0 = not measured.
	Rate float64 `json:"rate,omitempty"`
	// Sessions is the number of idle ones; 0 = not measured.
	Sessions int `json:"sessions,omitempty"`
	// Balancers in the order given.
	Balancers []Balancer `json:"balancers"`
	// Base is the name of the balancer that ratios refer to.
	Base string `json:"base"`
	// Backends are the servers behind them, and their versions.
	Backends []string `json:"backends"`
	// Notes are sentences that a reader of the numbers must know.
	Notes []string `json:"notes,omitempty"`
	// Samples in the order in which they were measured.
	Samples []Sample `json:"samples"`
}

// Balancer is one that was measured.
type Balancer struct {
	Name    string        `json:"name"`
	Kind    balancer.Kind `json:"kind"`
	Path    string        `json:"path"`
	Version string        `json:"version"`
	// Config is the text of its configuration file.
	Config string `json:"config"`
}

// Sample is one measurement.
type Sample struct {
	Round    int      `json:"round"` // from 1
	Workload Workload `json:"workload"`
	Balancer string   `json:"balancer"`
	// Seconds is the length of the measured piece; 0 for idle sessions.
	Seconds float64 `json:"seconds"`
	// Units is what was done in it: exchanges, bytes or sessions.
	Units int64 `json:"units"`
	// Values by the keys of Metrics, and some more.
	Values map[string]float64 `json:"values"`
	// Failures by kind, over the whole load.
	Failures map[string]int64 `json:"failures,omitempty"`
	// Error is the first failure, or why there are no values.
	Error string `json:"error,omitempty"`
}

// Summary is what the rounds together say.
type Summary struct {
	Median, Min, Max float64
	// N is the number of samples; 0 = none, and the rest means nothing.
	N int
}

// Spread is half of the distance between the least and the greatest, as a share of the
// median; 0 with less than two samples.
func (s Summary) Spread() float64 {
	if s.N < 2 || s.Median == 0 {
		return 0
	}
	return (s.Max - s.Min) / 2 / s.Median
}

// Summary summarises one metric of one balancer.
func (r *Result) Summary(name string, m Metric) Summary {
	var values []float64
	for _, s := range r.Samples {
		if v, ok := s.Values[m.Key]; ok && s.Balancer == name && s.Workload == m.Workload {
			values = append(values, v)
		}
	}
	return summarise(values)
}

func summarise(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	slices.Sort(values)
	n := len(values)
	return Summary{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1], N: n}
}

// Ratio is a balancer's median of m divided by the base's; ok is false if there is
// none.
func (r *Result) Ratio(name string, m Metric) (ratio float64, ok bool) {
	base, own := r.Summary(r.Base, m), r.Summary(name, m)
	if base.N == 0 || own.N == 0 || base.Median == 0 {
		return 0, false
	}
	return own.Median / base.Median, true
}

// Failures sums a balancer's failures in one workload.
func (r *Result) Failures(name string, w Workload) map[string]int64 {
	sum := make(map[string]int64)
	for _, s := range r.Samples {
		if s.Balancer == name && s.Workload == w {
			for kind, n := range s.Failures {
				sum[kind] += n
			}
		}
	}
	return sum
}

// baseOf is the first sluice, or else the first balancer.
func baseOf(specs []balancer.Spec) string {
	first := slices.MinFunc(specs, func(a, b balancer.Spec) int {
		return cmp.Compare(rank(a), rank(b))
	})
	return first.Name
}

func rank(s balancer.Spec) int {
	if s.Kind == balancer.Sluice {
		return 0
	}
	return 1
}
