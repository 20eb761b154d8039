package failover

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/report"
)

// Page shows everything in one HTML page, and what has changed since another result if
// since is not nil.
func (r *Result) Page(since *Comparison) report.Page {
	p := report.Page{
		Title: "Failover: what clients noticed", Facts: r.facts(), Warnings: r.Warnings(), Legend: r.Legend(), Notes: r.Remarks(),
	}
	if since != nil {
		p.Sections = append(p.Sections, since.section())
	}
	p.Matrix = r.matrix(len(p.Sections))
	for _, f := range r.Faults {
		p.Sections = append(p.Sections, r.section(f))
	}
	p.Sections = append(p.Sections, report.Section{Title: "What the charts show", Text: fmt.Sprintf(
		"Each chart is the median of the rounds of one balancer (by failed, then worst delay). From the top: new clients by when they were due, in steps of %v: "+
			"served, late (more than 50 ms), failed; the strip below repeats late and failed, however few; then a band for each backend, in stronger color the more clients it served, "+
			"with a red frame while it was broken; then the long sessions that ended (red) or were stuck (amber). Charts of one fault have one scale.", BucketLength)})
	p.Texts = append(p.Texts, report.Fact{Name: "What each figure means", Value: meanings()})
	for _, b := range r.Balancers {
		if b.Config != "" {
			p.Texts = append(p.Texts, report.Fact{Name: "Configuration of " + b.Name, Value: b.Config})
		}
	}
	return p
}

// meanings is a line for each figure.
func meanings() string {
	var b strings.Builder
	for _, m := range Metrics() {
		fmt.Fprintf(&b, "%-15s %s\n", m.Title, m.Meaning)
	}
	return b.String()
}

// section is one fault.
func (r *Result) section(name string) report.Section {
	s := report.Section{Title: title(name), Text: sentence(fault.Fault(name).Meaning()), Table: r.tableOf(name), Folded: "The other rounds"}
	s.Timelines, s.More = r.timelines(name)
	return s
}

// sentence begins with a capital and ends with a full stop, if there is anything.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// matrix is the overview; first is the index of the first fault's section.
func (r *Result) matrix(first int) report.Matrix {
	m := report.Matrix{Head: r.names(), Text: "Failed clients, and the worst delay of the others. ✓ marks who is better than others. " +
		"Green: nobody failed or waited 50 ms; the redder, the more did. A name leads to its charts."}
	for i, f := range r.Faults {
		row := report.MatrixRow{Label: f, Anchor: first + i}
		best := r.best(f)
		for _, name := range m.Head {
			failed, worst := r.verdict(name, f)
			cell := report.Cell{Value: failed + " failed", More: "worst " + worst, Level: r.level(name, f), Best: best[name]}
			if worst == "" {
				cell.Value, cell.More = "–", "not measured"
			}
			row.Cells = append(row.Cells, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// Shares of all clients from which on failures are some, and many.
const someFailed, manyFailed = 0.005, 0.05

// level colors the overview: -1 if nothing is known.
func (r *Result) level(balancer, fault string) int {
	f, w := r.Summary(balancer, fault, "failed"), r.Summary(balancer, fault, "worst_ms").Median
	share := f.Median / max(r.Summary(balancer, fault, "attempts").Median, 1)
	switch {
	case f.N == 0:
		return -1
	case share >= manyFailed:
		return 4
	case share >= someFailed:
		return 3
	case f.Median > 0 || w > millis(late1000):
		return 2
	case w > millis(late50):
		return 1
	}
	return 0
}

func (r *Result) facts() []report.Fact {
	m := r.Machine
	load := fmt.Sprintf("%s new clients a second, %d long sessions, %d hashed clients", report.Number(r.Rate), r.Talks, r.Hashed)
	facts := []report.Fact{
		{Name: "measured", Value: fmt.Sprintf("%s, in %s s", r.Started.Format(time.DateTime+" MST"), report.Number(math.Round(r.Seconds)))},
		{Name: "machine", Value: fmt.Sprintf("%d cores, %s, Linux %s, %s", m.Cores, m.CPU, m.Kernel, m.System)},
		{Name: "load", Value: load},
		{Name: "runs", Value: fmt.Sprintf("%d, each of %v, %d backends, %d rounds", len(r.Runs), r.length().Round(time.Millisecond), r.Backends, r.Rounds)},
		{Name: "clients", Value: "l4bench, " + m.Go},
	}
	for _, b := range r.Balancers {
		facts = append(facts, report.Fact{Name: b.Name, Value: b.Version})
	}
	if len(r.Command) > 0 {
		facts = append(facts, report.Fact{Name: "command", Value: strings.Join(r.Command, " ")})
	}
	return facts
}

// length is that of the load of the first run; 0 if there is none.
func (r *Result) length() time.Duration {
	if len(r.Runs) == 0 {
		return 0
	}
	return r.Runs[0].Length
}
