package metrics

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// maxScrapes is how many scrapes may be answered at one time; they share what is
// gathered. One more is told to come again.
const maxScrapes = 4

// Config says where values come from. Both functions are called once a scrape, from any
// goroutine; what they return is only read.
type Config struct {
	Services func() []api.Service
	Status   func() api.Status
	Log      *slog.Logger // nil discards
}

// Metrics is what Prometheus may read. Its methods may be called from any goroutine.
type Metrics struct {
	cfg      Config
	runtime  *prometheus.Registry // Go, the process, and the handler's own errors
	families []family
	connects *layout
	probes   *layout

	mu     sync.RWMutex // guards series and users, not what histograms count
	series map[pair]*series
}

// New returns the metrics of what cfg tells. Services and Status are required.
func New(cfg Config) *Metrics {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{
		cfg:      cfg,
		runtime:  prometheus.NewRegistry(),
		families: families(),
		series:   make(map[pair]*series),
		// The kernel sends a lost SYN again after 1 s, and after 3 s: what is above these
		// bounds has lost one, or two.
		connects: newLayout(100*time.Microsecond, 250*time.Microsecond, time.Millisecond, 5*time.Millisecond, 25*time.Millisecond,
			100*time.Millisecond, 500*time.Millisecond, time.Second, 3*time.Second, 10*time.Second),
		probes: newLayout(time.Millisecond, 5*time.Millisecond, 25*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond,
			500*time.Millisecond, time.Second, 3*time.Second, 10*time.Second),
	}
	m.runtime.MustRegister(collectors.NewGoCollector(), processCollector())
	return m
}

// Handler answers scrapes: as text, OpenMetrics or protobuf (the one with the native
// histograms), compressed for whom asks for it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerForTransactional(prometheus.ToTransactionalGatherer(m), promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{m.cfg.Log},
		ErrorHandling:       promhttp.HTTPErrorOnError, // the first one ends the scrape: a client that hung up is logged once
		Registry:            m.runtime,
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true,
		CoalesceGather:      true,
	})
}

// scrapeLog is promhttp's way to a logger.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	text := fmt.Sprintln(v...)
	l.log.Warn("scrape failed", "error", text[:len(text)-1])
}
