package metrics

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestTheTextIsWhatPrometheusReads(t *testing.T) {
	w := get(t, full().Handler(), nil)
	if ct := w.Header().Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
		t.Errorf("content type %q", ct)
	}
	for _, line := range []string{
		"# TYPE sluice_sessions_total counter",
		`sluice_sessions_total{backend="b1",service="redis"} 100`,
		`sluice_connect_duration_seconds_bucket{backend="b1",service="redis",le="0.001"} 1`,
		`sluice_connect_duration_seconds_bucket{backend="b1",service="redis",le="+Inf"} 1`,
		`sluice_connect_duration_seconds_sum{backend="b1",service="redis"} 0.001`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body)
		}
	}
}

func TestOpenMetricsEndsAsItMust(t *testing.T) {
	w := get(t, full().Handler(), map[string]string{"Accept": "application/openmetrics-text; version=1.0.0"})
	if ct := w.Header().Get("Content-Type"); !strings.HasPrefix(ct, "application/openmetrics-text") {
		t.Errorf("content type %q", ct)
	}
	if !strings.HasSuffix(w.Body.String(), "\n# EOF\n") {
		t.Error("no end")
	}
}

func TestProtobufHasTheNativeHistogram(t *testing.T) {
	w := get(t, full().Handler(), map[string]string{
		"Accept": "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
	})
	d := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
	for {
		var f dto.MetricFamily
		if err := d.Decode(&f); errors.Is(err, io.EOF) {
			t.Fatal("no sluice_connect_duration_seconds")
		} else if err != nil {
			t.Fatal(err)
		}
		if f.GetName() == "sluice_connect_duration_seconds" {
			h := f.Metric[0].Histogram
			if h.GetSchema() != schema || len(nativeBuckets(h)) != 1 || len(h.Bucket) == 0 {
				t.Errorf("%v", h)
			}
			return
		}
	}
}

func TestAnswersAreCompressedForWhomAsks(t *testing.T) {
	w := get(t, full().Handler(), map[string]string{"Accept-Encoding": "gzip"})
	if ce := w.Header().Get("Content-Encoding"); ce != "gzip" {
		t.Fatalf("content encoding %q", ce)
	}
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if parse(t, string(text))["sluice_sessions_total"] == nil {
		t.Error("no sluice_sessions_total")
	}
}

func TestScrapesBeyondTheLimitAreTurnedAway(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m := New(Config{Status: status, Services: func() []api.Service {
		once.Do(func() { close(entered) })
		<-leave
		return nil
	}})
	h := m.Handler()
	codes := make(chan int)
	for range maxScrapes + 1 {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			codes <- w.Code
		}()
	}
	<-entered
	// All but one wait for what the first one gathers.
	if code := receive(t, codes); code != http.StatusServiceUnavailable {
		t.Errorf("status %d", code)
	}
	close(leave)
	for range maxScrapes {
		if code := receive(t, codes); code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	}
}

func receive(t *testing.T, codes <-chan int) int {
	t.Helper()
	select {
	case c := <-codes:
		return c
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
		return 0
	}
}

// brokenWriter is a client that has hung up.
type brokenWriter struct{ httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("hung up") }

func TestAClientThatHangsUpIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	m := New(Config{
		Services: func() []api.Service { return []api.Service{redis()} }, Status: status,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	m.Handler().ServeHTTP(&brokenWriter{}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "hung up") {
		t.Errorf("logged %q", log.String())
	}
}

// brokenCollector fails.
type brokenCollector struct{ desc *prometheus.Desc }

func (c brokenCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }
func (c brokenCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(c.desc, errors.New("broken"))
}

func TestACollectorThatFailsDoesNotFailTheScrape(t *testing.T) {
	var log bytes.Buffer
	m := New(Config{
		Services: func() []api.Service { return []api.Service{redis()} }, Status: status,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	m.runtime.MustRegister(brokenCollector{prometheus.NewDesc("broken", "It is.", nil, nil)})
	if all := scrape(t, m); all["sluice_sessions_total"] == nil || all["go_goroutines"] == nil {
		t.Error("families are missing")
	}
	if !strings.Contains(log.String(), "broken") {
		t.Errorf("logged %q", log.String())
	}
}
