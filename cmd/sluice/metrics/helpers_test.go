package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// started is when the process of a test's status started.
var started = time.Unix(1_700_000_000, 0)

// status returns a status with something in each field that is told.
func status() api.Status {
	return api.Status{
		Version: "v1.2.3", Started: started, Revision: 7, Ready: true, LogDropped: 3,
		Descriptors: api.Descriptors{Limit: 1024, Sessions: 400, Shed: 5},
		Reload:      api.Reload{Count: 2, Refused: 1, Time: started.Add(time.Hour), Error: "line 3"},
	}
}

// redis returns a service with two backends: b1 is up and has a history, b2 is down.
func redis() api.Service {
	return api.Service{
		Name: "redis", Sessions: 6, Held: 2, Usable: 1,
		Ended: map[string]int64{"eof": 90, "reset": 4, "denied": 3, "no-backend": 2, "limit-rate": 8},
		Backends: []api.Backend{
			{Name: "b1", State: "up", Weight: 3, Health: "up", Admin: api.Ready, Usable: true, Sessions: 4, Total: 100, Retries: 5,
				DialFailures: map[string]int64{"refused": 6, "timeout": 7}, BytesToBackend: 1000, BytesToClient: 2000},
			{Name: "b2", State: "down", Weight: 1, Health: "down", Admin: api.Ready},
		},
	}
}

// with returns the metrics of services that stay as they are.
func with(services ...api.Service) *Metrics {
	return New(Config{Services: func() []api.Service { return services }, Status: status})
}

// scrape returns the families of a scrape's text, by name.
func scrape(t testing.TB, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	return parse(t, get(t, m.Handler(), nil).Body.String())
}

func get(t testing.TB, h http.Handler, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r, w := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
	for k, v := range header {
		r.Header.Set(k, v)
	}
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w
}

func parse(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	all, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all
}

// values returns the samples of a family that is a counter or a gauge, by their labels.
func values(f *dto.MetricFamily) map[string]float64 {
	all := make(map[string]float64)
	for _, m := range f.GetMetric() {
		all[labels(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return all
}

// labels is `a=b,c=d`, in the order of the sample.
func labels(m *dto.Metric) string {
	var all []string
	for _, l := range m.Label {
		all = append(all, fmt.Sprintf("%s=%s", l.GetName(), l.GetValue()))
	}
	return strings.Join(all, ",")
}
