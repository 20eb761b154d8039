package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/report"
)

// Page shows everything in one HTML page.
func (r *Result) Page() report.Page {
	p := report.Page{
		Title: "Balancers compared", Facts: r.facts(), Warnings: r.Warnings(), Table: r.Table(), Legend: r.Legend(),
		Notes: r.Remarks(),
	}
	for _, w := range []Workload{Latency, Beside} {
		if l := r.curves(w); len(l.Lines) > 0 {
			p.Lines = append(p.Lines, l)
		}
	}
	for _, m := range Metrics() {
		if r.has(m) && m.Workload != Latency && !(m.Workload == Beside && !m.More) {
			p.Bars = append(p.Bars, r.bars(m))
		}
	}
	for _, b := range r.Balancers {
		p.Texts = append(p.Texts, report.Fact{Name: "Configuration of " + b.Name, Value: b.Config})
	}
	return p
}

func (r *Result) facts() []report.Fact {
	m := r.Machine
	facts := []report.Fact{
		{Name: "measured", Value: fmt.Sprintf("%s, in %.0f s", r.Started.Format(time.DateTime+" MST"), r.Seconds)},
		{Name: "machine", Value: fmt.Sprintf("%d cores, %s, Linux %s, %s", m.Cores, m.CPU, m.Kernel, m.System)},
		{Name: "clients", Value: "l4bench, " + m.Go},
	}
	for _, b := range r.Balancers {
		facts = append(facts, report.Fact{Name: b.Name, Value: b.Version})
	}
	facts = append(facts, report.Fact{Name: "backends", Value: strings.Join(r.Backends, "; ")})
	if len(r.Command) > 0 {
		facts = append(facts, report.Fact{Name: "command", Value: strings.Join(r.Command, " ")})
	}
	return facts
}

// bars draws one metric.
func (r *Result) bars(m Metric) report.Bars {
	c := report.Bars{Title: m.Title, Unit: m.Unit, More: m.More}
	for i, name := range r.names() {
		s := r.Summary(name, m)
		if s.N == 0 {
			continue
		}
		f := r.figure(name, m)
		text := f.Value
		if f.Ratio != "" {
			text += "  (" + f.Ratio + ")"
		}
		c.Bars = append(c.Bars, report.Bar{Name: name, Color: r.color(i), Value: s.Median, Min: s.Min, Max: s.Max, Text: text})
	}
	return c
}

// colorOfDirect is grey.
const colorOfDirect = 3

// color is the i-th name's.
func (r *Result) color(i int) int {
	switch {
	case i == len(r.Balancers):
		return colorOfDirect
	case i >= colorOfDirect:
		return i + 1
	}
	return i
}

// curves draws the percentiles of a workload.
func (r *Result) curves(w Workload) report.Lines {
	keys := []string{"p50_us", "p90_us", "p99_us", "p999_us", "max_us"}
	l := report.Lines{Title: "Latency at a fixed rate", Unit: "µs", Places: []string{"50 %", "90 %", "99 %", "99.9 %", "max"}}
	if w == Beside {
		l.Title = "Latency beside 8 bulk streams"
	}
	for i, name := range r.names() {
		line := report.Line{Name: name, Color: r.color(i)}
		for _, key := range keys {
			line.Values = append(line.Values, r.Summary(name, Metric{Workload: w, Key: key}).Median)
		}
		if slices.Max(line.Values) > 0 {
			l.Lines = append(l.Lines, line)
		}
	}
	return l
}
