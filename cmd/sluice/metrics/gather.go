package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

var _ prometheus.Gatherer = (*Metrics)(nil)

// Gather is one scrape: every family that has samples, sorted by name. Collectors of Go
// or the process that fail are logged and left out; there is no other error.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	all, err := m.runtime.Gather()
	if err != nil {
		m.cfg.Log.Warn("collectors failed", "error", err)
	}
	s := m.take()
	var out samples
	for i := range m.families {
		f := &m.families[i]
		out.kind, out.all = f.kind, nil
		f.emit(s, &out)
		if len(out.all) > 0 {
			all = append(all, &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: &f.kind, Metric: out.all})
		}
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, nil
}
