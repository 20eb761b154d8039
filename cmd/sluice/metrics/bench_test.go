package metrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// large returns n backends in services of 100, each with durations as a busy one has them.
func large(n int) *Metrics {
	var services []api.Service
	for i := range n {
		if i%100 == 0 {
			services = append(services, api.Service{Name: fmt.Sprintf("service-%d", i/100), Ended: map[string]int64{"eof": 1e6, "reset": 10}})
		}
		svc := &services[len(services)-1]
		svc.Backends = append(svc.Backends, api.Backend{
			Name: fmt.Sprintf("10.0.%d.%d:6379", i/100, i%100), Weight: 1, Health: "up", Admin: api.Ready, Usable: true, Sessions: 12,
			Total: 123_456, BytesToBackend: 1 << 32, BytesToClient: 1 << 40, DialFailures: map[string]int64{"refused": 3},
		})
	}
	m := with(services...)
	for _, svc := range services {
		for _, b := range svc.Backends {
			for d := 200 * time.Microsecond; d < 3*time.Millisecond; d += 50 * time.Microsecond {
				m.Connect(svc.Name, b.Name).Observe(d)
				m.Probe(svc.Name, b.Name).Observe(4 * d)
			}
		}
	}
	return m
}

// discard is a response that goes nowhere.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { d.n += int64(len(p)); return io.Discard.Write(p) }

func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{10, 1000} {
		m := large(n)
		h := m.Handler()
		b.Run(fmt.Sprintf("%d/gather", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Gather()
			}
		})
		for name, header := range map[string]http.Header{
			"text":     {},
			"gzip":     {"Accept-Encoding": {"gzip"}},
			"protobuf": {"Accept": {"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"}},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				r.Header = header
				var w discard
				for b.Loop() {
					w = discard{header: make(http.Header)}
					h.ServeHTTP(&w, r)
				}
				b.ReportMetric(float64(w.n), "bytes")
			})
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	m := with(redis())
	h := m.Connect("redis", "b1")
	b.ReportAllocs()
	for d := time.Microsecond; b.Loop(); d = (d*5/4 + 1) % time.Second {
		h.Observe(d)
	}
}
