package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/bench/report"
)

// names are those of the balancers that were measured, and direct.
func (r *Result) names() []string {
	var names []string
	for _, b := range r.Balancers {
		names = append(names, b.Name)
	}
	return append(names, Direct)
}

// Table shows the medians, their spread and their ratios to the base.
func (r *Result) Table() report.Table {
	t := report.Table{Head: r.names()}
	last := Workload("")
	for _, m := range Metrics() {
		if !r.has(m) {
			continue
		}
		row := report.Row{Label: m.Title, Unit: m.Unit, First: m.Workload != last}
		last = m.Workload
		for _, name := range t.Head {
			row.Figures = append(row.Figures, r.figure(name, m))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// has tells whether anyone has a value of m.
func (r *Result) has(m Metric) bool {
	return slices.ContainsFunc(r.names(), func(name string) bool { return r.Summary(name, m).N > 0 })
}

func (r *Result) figure(name string, m Metric) report.Figure {
	bad := r.failed(name, m.Workload)
	s := r.Summary(name, m)
	if s.N == 0 {
		return report.Figure{Value: "–", Bad: bad}
	}
	f := report.Figure{Value: report.Number(s.Median), Bad: bad}
	if s.N > 1 {
		f.Spread = "±" + report.Percent(s.Spread())
	}
	if ratio, ok := r.Ratio(name, m); ok && name != r.Base {
		f.Ratio = fmt.Sprintf("%.2f×", ratio)
	}
	return f
}

// failed tells whether anything of a workload failed.
func (r *Result) failed(name string, w Workload) bool {
	return slices.ContainsFunc(r.Samples, func(s Sample) bool {
		return s.Balancer == name && s.Workload == w && (s.Error != "" || len(s.Failures) > 0)
	})
}

// Legend explains Table.
func (r *Result) Legend() string {
	rounds := strconv.Itoa(r.Rounds)
	if r.Partial != "" {
		rounds = "not all of " + rounds
	}
	return fmt.Sprintf("Medians over rounds (%s); ± half of the distance from least to greatest; × the value divided by %s's. "+
		"CPU is the balancer's own, user and system. direct has no balancer.", rounds, r.Base)
}

// muchForOthers is the share of CPU time from which on a reader must know of it.
const muchForOthers = 0.05

// Warnings are the failures, why a run ended early, and what disturbed it.
func (r *Result) Warnings() []string {
	var all []string
	if r.Partial != "" {
		all = append(all, "Partial: "+r.Partial+".")
	}
	if r.Others >= muchForOthers {
		all = append(all, fmt.Sprintf("Disturbed: other processes used %s of the machine's CPU time; rates and latencies are theirs as much as the balancers'.", report.Percent(r.Others)))
	}
	for _, name := range r.names() {
		for _, w := range Workloads() {
			if text := r.failureText(name, w); text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}

func (r *Result) failureText(name string, w Workload) string {
	failures := r.Failures(name, w)
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		parts = append(parts, fmt.Sprintf("%d %s", failures[kind], kind))
	}
	for _, s := range r.Samples {
		if s.Balancer == name && s.Workload == w && s.Error != "" {
			parts = append(parts, "first: "+s.Error)
			break
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s failed in %s: %s", name, w, strings.Join(parts, ", "))
}

// Remarks are the notes, and what the run was made of.
func (r *Result) Remarks() []string {
	all := slices.Clone(r.Notes)
	if r.Rate > 0 {
		all = append(all, fmt.Sprintf("Latency: %s requests a second for all, from the instant at which each was due.", report.Number(r.Rate)))
	}
	if r.Sessions > 0 {
		all = append(all, fmt.Sprintf("Idle: %s sessions on a fresh process, each after 100 bytes in both directions.", report.Number(float64(r.Sessions))))
	}
	return all
}
