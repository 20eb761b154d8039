package failover

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/bench/report"
)

// Overview is a table with one row a fault: how many clients failed, and the worst delay
// of the others.
func (r *Result) Overview() report.Table {
	t := report.Table{Head: r.names()}
	for _, f := range r.Faults {
		row := report.Row{Label: title(f)}
		best := r.best(f)
		for _, name := range t.Head {
			failed, worst := r.verdict(name, f)
			figure := report.Figure{Value: failed, Spread: worst}
			if best[name] {
				figure.Ratio = "best"
			}
			row.Figures = append(row.Figures, figure)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// verdict writes how many failed, and the worst delay; dashes if nothing is known.
func (r *Result) verdict(balancer, fault string) (failed, worst string) {
	f, w := r.Summary(balancer, fault, "failed"), r.Summary(balancer, fault, "worst_ms")
	if f.N == 0 {
		return "–", ""
	}
	return metric("failed").text(f.Median), delay(w.Median)
}

// Table has a group of rows for each fault: medians over rounds, and their spread. Rows
// that would be nothing but zeros are left out, but for failed and worst delay.
func (r *Result) Table() report.Table {
	t := report.Table{Head: r.names()}
	for _, f := range r.Faults {
		t.Rows = append(t.Rows, report.Row{Label: title(f), First: true})
		for _, m := range Metrics() {
			if m.Key != "attempts" && (r.tells(f, m) || m.Key == "failed" || m.Key == "worst_ms") {
				row := r.row(f, m)
				row.Label = "  " + row.Label
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// tells tells whether any run of a fault has more than nothing of m.
func (r *Result) tells(fault string, m Metric) bool {
	return slices.ContainsFunc(r.names(), func(name string) bool { return r.Summary(name, fault, m.Key).Max > 0 })
}

// tableOf has all figures of one fault.
func (r *Result) tableOf(fault string) report.Table {
	t := report.Table{Head: r.names()}
	for _, m := range Metrics() {
		if r.tells(fault, m) || m.Key == "failed" {
			t.Rows = append(t.Rows, r.row(fault, m))
		}
	}
	return t
}

// row is one figure of all balancers.
func (r *Result) row(fault string, m Metric) report.Row {
	row := report.Row{Label: m.Title, Unit: m.Unit}
	for _, name := range r.names() {
		s := r.Summary(name, fault, m.Key)
		if s.N == 0 {
			row.Figures = append(row.Figures, report.Figure{Value: "–"})
			continue
		}
		row.Figures = append(row.Figures, m.figure(s))
	}
	return row
}

// Legend explains Table and Overview.
func (r *Result) Legend() string {
	rounds := fmt.Sprint(r.Rounds)
	if r.Partial != "" {
		rounds = "not all of " + rounds
	}
	return fmt.Sprintf("Medians over rounds (%s), least–greatest where they differ; failed and worst delay of new clients, %s a second, timed from when each was due. "+
		"Rows that are zero for all are left out. best: fewest failed, then least worst delay; less than %d clients, %d ms or a tenth is no difference.",
		rounds, report.Number(r.Rate), sameClients, sameMillis)
}

// What a reader must know of: CPU time of others, and clients that began late.
const (
	muchForOthers = 0.05
	muchBehind    = 20.0 // ms
)

// Warnings are why it ended early, what disturbed it, and what failed.
func (r *Result) Warnings() []string {
	var all []string
	if r.Partial != "" {
		all = append(all, "Partial: "+r.Partial+".")
	}
	if r.Others >= muchForOthers {
		all = append(all, fmt.Sprintf("Disturbed: other processes used %s of the machine's CPU time; delays are theirs as much as the balancers'.", report.Percent(r.Others)))
	}
	late, worst := 0, 0.0
	for _, run := range r.Runs {
		if behind := run.Values["behind_ms"]; behind > muchBehind {
			late, worst = late+1, max(worst, behind)
		}
	}
	if late > 0 {
		all = append(all, fmt.Sprintf("Late: in %d of %d runs clients began more than %.0f ms after they were due (worst: %s ms), for want of CPU; such delays are not the balancers'.",
			late, len(r.Runs), muchBehind, report.Number(worst)))
	}
	for _, run := range r.Runs {
		if run.Error != "" {
			all = append(all, fmt.Sprintf("Failed: %s, %s, round %d: %s", run.Balancer, run.Fault, run.Round, run.Error))
		}
	}
	return all
}

// Remarks are what balancers cannot express, and the notes.
func (r *Result) Remarks() []string {
	var all []string
	for _, b := range r.Balancers {
		if len(b.Cannot) > 0 {
			all = append(all, b.Name+" has "+strings.Join(b.Cannot, "; ")+".")
		}
	}
	return append(all, r.Notes...)
}
