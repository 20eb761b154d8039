//go:build linux

package parts

import (
	"net/http"
	"sort"
	"strconv"
	"strings"
)

// Metrics is one scrape: values by series, such as `sluice_held{service="s"}`.
type Metrics map[string]float64

// Metrics scrapes /metrics.
func (a *Admin) Metrics() Metrics {
	a.t.Helper()
	status, text := a.Get("/metrics")
	if status != http.StatusOK {
		a.t.Fatalf("/metrics: %d: %s", status, text)
	}
	m := Metrics{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			a.t.Fatalf("/metrics: no number in %q", line)
		}
		m[line[:i]] = v
	}
	return m
}

// Sum adds up the series of a metric that have all of the labels, each `name="value"`, and tells how many those are.
func (m Metrics) Sum(name string, labels ...string) (sum float64, n int) {
	for series, v := range m {
		if base, _, _ := strings.Cut(series, "{"); base == name && containsAll(series, labels) {
			sum += v
			n++
		}
	}
	return sum, n
}

// Value is the sum alone.
func (m Metrics) Value(name string, labels ...string) float64 {
	sum, _ := m.Sum(name, labels...)
	return sum
}

// Names lists the metrics whose name has this prefix, in order.
func (m Metrics) Names(prefix string) (names []string) {
	seen := map[string]bool{}
	for series := range m {
		base, _, _ := strings.Cut(series, "{")
		if strings.HasPrefix(base, prefix) && !seen[base] {
			seen[base] = true
			names = append(names, base)
		}
	}
	sort.Strings(names)
	return names
}

// Label returns the value of a label in a series, "" if it has none.
func Label(series, name string) string {
	_, rest, ok := strings.Cut(series, name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
