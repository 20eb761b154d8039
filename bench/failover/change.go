package failover

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/report"
)

// Comparison is what differs between two results.
type Comparison struct {
	// Cautions are sentences: what differs in how they were measured.
	Cautions []string
	// Missing are sentences: what only one of them has.
	Missing []string
	// Changes in the order of faults, balancers and metrics.
	Changes []Change
	// Compared is how many figures both have.
	Compared int
	// Since is when the older began.
	Since time.Time
}

// Change is one figure that changed beyond what the rounds of either differ by.
type Change struct {
	Fault, Balancer string
	Metric          Metric
	Old, New        Summary
}

// Better tells whether the new one is better: of all metrics less is.
func (c Change) Better() bool { return c.New.Median < c.Old.Median }

// Compare tells what has changed from old to new. A figure has changed if the range of
// its rounds, from least to greatest, has nothing in common with that of the other, and
// its medians are apart by more than a tenth of the old one and more than 2 clients or
// sessions, 20 ms, or 0.05 of a share. What never happened differs from all that did.
func Compare(old, new *Result) *Comparison {
	c := &Comparison{Cautions: cautions(old, new), Missing: missing(old, new), Since: old.Started}
	for _, f := range new.Faults {
		for _, b := range new.names() {
			for _, m := range Metrics() {
				if m.Key != "attempts" {
					c.add(Change{Fault: f, Balancer: b, Metric: m, Old: old.Summary(b, f, m.Key), New: new.Summary(b, f, m.Key)})
				}
			}
		}
	}
	return c
}

// add keeps a change that is one.
func (c *Comparison) add(v Change) {
	if v.Old.N == 0 || v.New.N == 0 {
		return
	}
	c.Compared++
	disjoint := v.New.Min > v.Old.Max || v.New.Max < v.Old.Min
	if disjoint && v.Metric.apart(v.Old.Median, v.New.Median) {
		c.Changes = append(c.Changes, v)
	}
}

// cautions compares the settings.
func cautions(old, new *Result) []string {
	var all []string
	differ := func(what string, was, is any) {
		if was != is {
			all = append(all, fmt.Sprintf("Other %s: %v then, %v now.", what, was, is))
		}
	}
	differ("rate", report.Number(old.Rate)+"/s", report.Number(new.Rate)+"/s")
	differ("duration of a run", old.length().Round(10*time.Millisecond), new.length().Round(10*time.Millisecond))
	differ("number of backends", old.Backends, new.Backends)
	differ("number of long sessions", old.Talks, new.Talks)
	differ("number of hashed clients", old.Hashed, new.Hashed)
	differ("number of rounds", old.Rounds, new.Rounds)
	differ("machine", machine(old), machine(new))
	for _, b := range new.Balancers {
		i := slices.IndexFunc(old.Balancers, func(o Balancer) bool { return o.Name == b.Name })
		if i >= 0 {
			differ("version of "+b.Name, old.Balancers[i].Version, b.Version)
			differ("kind of "+b.Name, old.Balancers[i].Kind, b.Kind)
		}
	}
	for _, r := range []struct {
		name string
		*Result
	}{{"earlier", old}, {"present", new}} {
		for _, w := range r.Warnings() {
			all = append(all, "The "+r.name+" result: "+w)
		}
	}
	return all
}

func machine(r *Result) string {
	m := r.Machine
	return fmt.Sprintf("%d cores, %s, %s, %s, %s", m.Cores, m.CPU, m.Kernel, m.System, m.Go)
}

// missing are the balancers, the faults, and the runs and figures of those both have, that
// only one has.
func missing(old, new *Result) []string {
	var all []string
	say := func(what string, only, other []string, which string) {
		only = slices.DeleteFunc(slices.Clone(only), func(name string) bool { return slices.Contains(other, name) })
		if len(only) > 0 {
			all = append(all, fmt.Sprintf("Only the %s result has %s %s.", which, what, strings.Join(only, ", ")))
		}
	}
	both := func(what string, of func(r, other *Result) []string) {
		was, is := of(old, new), of(new, old)
		say(what, is, was, "present")
		say(what, was, is, "earlier")
	}
	both("balancer", func(r, _ *Result) []string { return r.names() })
	both("fault", func(r, _ *Result) []string { return r.Faults })
	both("runs of", runsOfBoth)
	both("a value of", figuresOfBoth)
	return all
}

// runsOfBoth are the measured pairs of balancer and fault of r that other names too.
func runsOfBoth(r, other *Result) []string {
	var all []string
	for _, f := range r.Faults {
		for _, b := range r.names() {
			if slices.Contains(other.Faults, f) && slices.Contains(other.names(), b) && r.Summary(b, f, "failed").N > 0 {
				all = append(all, b+" in "+f)
			}
		}
	}
	return all
}

// figuresOfBoth are the figures that r has of runs that both have.
func figuresOfBoth(r, other *Result) []string {
	var all []string
	for _, f := range r.Faults {
		for _, b := range r.names() {
			if other.Summary(b, f, "failed").N == 0 {
				continue
			}
			for _, m := range Metrics() {
				if r.Summary(b, f, m.Key).N > 0 {
					all = append(all, fmt.Sprintf("%q of %s in %s", m.Title, b, f))
				}
			}
		}
	}
	return all
}

// Table has a row for each change.
func (c *Comparison) Table() report.Table {
	t := report.Table{Head: []string{"then", "now", ""}}
	fault := ""
	for _, v := range c.Changes {
		word := "WORSE"
		if v.Better() {
			word = "better"
		}
		t.Rows = append(t.Rows, report.Row{
			Label: v.Balancer + ", " + v.Fault + ": " + v.Metric.Title, Unit: v.Metric.Unit, First: v.Fault != fault,
			Figures: []report.Figure{v.Metric.figure(v.Old), v.Metric.figure(v.New), {Value: word, Bad: !v.Better()}},
		})
		fault = v.Fault
	}
	return t
}

// figure writes a summary of m.
func (m Metric) figure(s Summary) report.Figure {
	return report.Figure{Value: m.text(s.Median), Spread: m.spread(s)}
}

// Verdict is one sentence.
func (c *Comparison) Verdict() string {
	better := 0
	for _, v := range c.Changes {
		if v.Better() {
			better++
		}
	}
	return fmt.Sprintf("Since %s: of %d figures %d are better, %d worse; the others are the same within their spread, or within %d clients, %d ms or a tenth.",
		c.Since.Format(time.DateTime), c.Compared, better, len(c.Changes)-better, sameClients, sameMillis)
}

// WriteText writes everything for a terminal, cautions first. The error is w's.
func (c *Comparison) WriteText(w io.Writer, color bool) error {
	head := slices.Concat(c.Cautions, c.Missing, []string{c.Verdict()})
	if _, err := io.WriteString(w, strings.Join(head, "\n")+"\n"); err != nil {
		return err
	}
	if len(c.Changes) == 0 {
		return nil
	}
	return c.Table().WriteText(w, color)
}

// section is the same for a page.
func (c *Comparison) section() report.Section {
	return report.Section{Title: "What has changed", Text: c.Verdict(), List: slices.Concat(c.Cautions, c.Missing), Table: c.Table()}
}
