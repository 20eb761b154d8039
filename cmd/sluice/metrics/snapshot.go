package metrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// snapshot is what one scrape tells, each service and each of its backends once.
type snapshot struct {
	status   api.Status
	services []*service
}

type service struct {
	api.Service
	label *dto.LabelPair
	all   []*backend
	named map[string]*backend
}

type backend struct {
	api.Backend
	labels         []*dto.LabelPair // backend, service
	connect, probe *Histogram
}

// backends calls yield with every backend of every service.
func (s *snapshot) backends(yield func(*backend) bool) {
	for _, svc := range s.services {
		for _, b := range svc.all {
			if !yield(b) {
				return
			}
		}
	}
}

// staying counts the backends that do not leave.
func (s *service) staying() (n int) {
	for _, b := range s.all {
		if !b.Leaving {
			n++
		}
	}
	return n
}

// take asks for everything once, without the mutex: whoever answers may ask for
// quantiles meanwhile.
func (m *Metrics) take() *snapshot {
	s := &snapshot{status: m.cfg.Status()}
	list := m.cfg.Services()
	named := make(map[string]*service, len(list))
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i := range list {
		one := &list[i]
		name := valid(one.Name)
		svc := named[name]
		if svc == nil {
			svc = &service{Service: *one, label: label("service", name)}
			named[name] = svc
			s.services = append(s.services, svc)
		} else {
			svc.merge(one)
		}
		svc.add(m, one)
	}
	return s
}

// merge adds another service of the same name: one of them leaves, and the other gives
// the state.
func (s *service) merge(other *api.Service) {
	sum := s.Service
	if s.Leaving && !other.Leaving {
		sum = *other
	}
	sum.Held = s.Held + other.Held
	sum.Ended = total(s.Ended, other.Ended)
	s.Service = sum
}

// add adds the backends of one of the services that s stands for.
func (s *service) add(m *Metrics, one *api.Service) {
	if s.named == nil {
		s.named = make(map[string]*backend, len(one.Backends))
	}
	for i := range one.Backends {
		next := backend{Backend: one.Backends[i]}
		next.Leaving = next.Leaving || one.Leaving
		name := valid(next.Name)
		if b := s.named[name]; b != nil {
			b.merge(&next.Backend)
			continue
		}
		next.labels = []*dto.LabelPair{label("backend", name), s.label}
		next.connect, next.probe = m.known(one.Name, next.Name)
		s.named[name] = &next
		s.all = append(s.all, &next)
	}
}

// merge adds another backend of the same name: one of them leaves, and the other gives
// the state.
func (b *backend) merge(other *api.Backend) {
	sum := b.Backend
	if b.Leaving && !other.Leaving {
		sum = *other
	}
	sum.Sessions = b.Sessions + other.Sessions
	sum.Total = b.Total + other.Total
	sum.Retries = b.Retries + other.Retries
	sum.BytesToBackend = b.BytesToBackend + other.BytesToBackend
	sum.BytesToClient = b.BytesToClient + other.BytesToClient
	sum.DialFailures = total(b.DialFailures, other.DialFailures)
	b.Backend = sum
}

// total returns the sums of two sets of counters, which are left as they are.
func total(a, b map[string]int64) map[string]int64 {
	sum := make(map[string]int64, len(a))
	for _, counters := range []map[string]int64{a, b} {
		for k, n := range counters {
			sum[k] += n
		}
	}
	return sum
}

// sorted returns the keys of m in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// valid is a label's value: one that is no UTF-8 would make the whole scrape invalid.
func valid(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }

// unix is t in seconds; 0 if it is not set.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
