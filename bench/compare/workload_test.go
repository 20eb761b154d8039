package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestWorkloadsAreSelectedByGroup(t *testing.T) {
	tests := []struct {
		groups []string
		want   []Workload
	}{
		{nil, Workloads()},
		{Groups(), Workloads()},
		{[]string{"connection"}, []Workload{Connection}},
		{[]string{"request"}, []Workload{Request, Request1}},
		{[]string{"bulk"}, []Workload{Bulk1, Bulk8, Upload8}},
		{[]string{"latency"}, []Workload{Latency, Beside}},
		{[]string{"latency", "idle", "idle"}, []Workload{Idle, Latency, Beside}},
	}
	for _, tt := range tests {
		if got, err := Select(tt.groups); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, %v", tt.groups, got, err)
		}
	}
	for _, bad := range []string{"", "bulk8", "everything"} {
		if _, err := Select([]string{"idle", bad}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "connection, request, bulk, latency, idle") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLatencyIsMeasuredAfterWhatItsRateComesFrom(t *testing.T) {
	all := Workloads()
	if slices.Index(all, Latency) < slices.Index(all, Request) || all[0] != Idle {
		t.Errorf("%v", all)
	}
}

func TestEveryWorkloadHasAMetricAndAService(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Workloads() {
		if !slices.ContainsFunc(Metrics(), func(m Metric) bool { return m.Workload == w }) {
			t.Errorf("%s has no metric", w)
		}
		if serviceOf(w) == "" || !slices.Contains(Groups(), w.group()) {
			t.Errorf("%s: service %q, group %q", w, serviceOf(w), w.group())
		}
	}
	for _, m := range Metrics() {
		key := string(m.Workload) + " " + m.Key
		if m.Title == "" || seen[key] || seen[m.Title] {
			t.Errorf("%+v: no title, or a second of its kind", m)
		}
		seen[key], seen[m.Title] = true, true
	}
}
