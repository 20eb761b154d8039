package failover

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/bench/fault"
	"github.com/sluicelb/sluice/bench/report"
)

// Summary is what the rounds together say of one figure. Infinite means never.
type Summary struct {
	Median, Min, Max float64
	// N is the number of runs that have it; 0 = none, and the rest means nothing.
	N int
}

// Summary summarises the figure of that key of a balancer's runs of a fault.
func (r *Result) Summary(balancer, fault, key string) Summary {
	var values []float64
	for _, run := range r.Runs {
		if run.Balancer != balancer || run.Fault != fault || run.Error != "" {
			continue
		}
		if v, ok := run.value(key); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return Summary{}
	}
	slices.Sort(values)
	n := len(values)
	return Summary{Median: (values[(n-1)/2] + values[n/2]) / 2, Min: values[0], Max: values[n-1], N: n}
}

// value is a figure; infinite if what it times never happened.
func (run Run) value(key string) (float64, bool) {
	if name, timed := strings.CutSuffix(key, "_ms"); timed && run.Values[name+"_never"] > 0 {
		return math.Inf(1), true
	}
	v, ok := run.Values[key]
	if !ok && strings.HasPrefix(key, "failed_") {
		_, ok = run.Values["failed"] // a kind that did not occur
	}
	return v, ok
}

// delay writes milliseconds with their unit, in few letters.
func delay(ms float64) string {
	if ms >= 999.5 {
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	return metric("worst_ms").text(ms) + " ms"
}

// isShare tells whether a figure is a share, to be written as a percentage.
func (m Metric) isShare() bool { return m.Key == "moved_share" || m.Key == "imbalance" }

// isTime tells whether it is a time in milliseconds.
func (m Metric) isTime() bool { return m.Unit == "ms" }

// text writes a value of m.
func (m Metric) text(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "never"
	case m.isShare():
		return report.Percent(v)
	case m.isTime():
		return report.Number(math.Round(v))
	}
	return report.Number(v)
}

// spread writes the least and the greatest of m, if they differ as they are written.
func (m Metric) spread(s Summary) string {
	low, high := m.text(s.Min), m.text(s.Max)
	if low == high {
		return ""
	}
	return low + "–" + high
}

// metric finds the metric of a key.
func metric(key string) Metric {
	all := Metrics()
	return all[slices.IndexFunc(all, func(m Metric) bool { return m.Key == key })]
}

// title is a heading for a fault; its name if it has no other.
func title(name string) string {
	t := fault.Fault(name).Title()
	if t == "" || t == name {
		return name
	}
	return t + " (" + name + ")"
}

// names are those of the balancers.
func (r *Result) names() []string {
	var all []string
	for _, b := range r.Balancers {
		all = append(all, b.Name)
	}
	return all
}

// What makes no difference: clients, milliseconds, points of a share, and in any case a
// tenth.
const (
	sameClients = 2
	sameMillis  = 20
	sameShare   = 0.05
	sameTenth   = 0.1
)

// floor is the greatest difference in m that means nothing however small the values are.
func (m Metric) floor() float64 {
	switch {
	case m.isTime():
		return sameMillis
	case m.isShare():
		return sameShare
	}
	return sameClients
}

// apart tells whether two values of m differ by more than the floor and a tenth of the first.
func (m Metric) apart(a, b float64) bool {
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return a != b
	}
	return math.Abs(a-b) > max(m.floor(), sameTenth*math.Abs(a))
}

// best returns the balancers that nobody beats in a fault: by failed, and if those are
// alike by worst delay. Nobody is best if all are alike, or there is but one.
func (r *Result) best(fault string) map[string]bool {
	failed, worst := metric("failed"), metric("worst_ms")
	best, some := make(map[string]bool), 0
	for _, name := range r.names() {
		f, w := r.Summary(name, fault, failed.Key), r.Summary(name, fault, worst.Key)
		if f.N == 0 {
			continue
		}
		some++
		beaten := slices.ContainsFunc(r.names(), func(other string) bool {
			f2, w2 := r.Summary(other, fault, failed.Key), r.Summary(other, fault, worst.Key)
			switch {
			case f2.N == 0:
				return false
			case failed.apart(f2.Median, f.Median):
				return f2.Median < f.Median
			}
			return worst.apart(w2.Median, w.Median) && w2.Median < w.Median
		})
		if !beaten {
			best[name] = true
		}
	}
	if len(best) == some {
		clear(best)
	}
	return best
}
