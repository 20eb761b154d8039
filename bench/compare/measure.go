package compare

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/proc"
)

// How the loads are made.
const (
	connectionClients = 32
	requestClients    = 50
	bulkStreams       = 8
	openConnections   = 50
	besideConnections = 10
	besideRate        = 500
	warmShare         = 5 // one part in so many is warm-up
)

// errNothing means that a load did nothing while it was measured.
var errNothing = errors.New("nothing was done")

// measurement is one sample in the making.
type measurement struct {
	slice  time.Duration
	target target
	s      *Sample
}

// measure measures one workload at one target.
func (r *runner) measure(ctx context.Context, w Workload, m measurement) error {
	addr := r.addr(m.target, serviceOf(w))
	switch w {
	case Connection:
		l := load.Connections{Addr: addr, Protocol: load.HTTP(backend.HTTPPath, backend.HTTPBody()), Clients: connectionClients}
		return m.exchanges(ctx, l.Run)
	case Request:
		return m.exchanges(ctx, load.Requests{Addr: addr, Protocol: load.Redis(), Clients: requestClients}.Run)
	case Request1:
		return m.exchanges(ctx, load.Requests{Addr: addr, Protocol: load.Redis(), Clients: 1}.Run)
	case Bulk1:
		return m.bulk(ctx, load.Bulk{Addr: addr, Streams: 1})
	case Bulk8:
		return m.bulk(ctx, load.Bulk{Addr: addr, Streams: bulkStreams})
	case Upload8:
		return m.bulk(ctx, load.Bulk{Addr: addr, Streams: bulkStreams, Upload: true})
	case Latency:
		if r.c.Rate > 0 {
			r.result.Rate = r.c.Rate
		}
		return m.latency(ctx, addr, r.result.Rate)
	case Beside:
		return m.beside(ctx, addr, r.addr(m.target, serviceStream))
	case Idle:
		return r.idle(ctx, m)
	}
	return fmt.Errorf("%w: no workload %q", ErrConfig, w)
}

// exchanges measures a load that counts exchanges.
func (m measurement) exchanges(ctx context.Context, run func(context.Context, *load.Tally)) error {
	cpu, err := m.piece(ctx, run, nil)
	if err != nil {
		return err
	}
	m.s.Values["rate"] = float64(m.s.Units) / m.s.Seconds
	if m.target.i != nil {
		m.s.Values["cpu_us"] = cpu.Seconds() * 1e6 / float64(m.s.Units)
	}
	return nil
}

// bulk measures a load that counts bytes.
func (m measurement) bulk(ctx context.Context, l load.Bulk) error {
	cpu, err := m.piece(ctx, l.Run, nil)
	if err != nil {
		return err
	}
	gb := float64(m.s.Units) / 1e9
	m.s.Values["gb_per_s"] = gb / m.s.Seconds
	if m.target.i != nil {
		m.s.Values["cpu_s_per_gb"] = cpu.Seconds() / gb
	}
	return nil
}

// latency measures requests at a fixed rate.
func (m measurement) latency(ctx context.Context, addr string, rate float64) error {
	if rate <= 0 {
		return errors.New("no rate: no balancer answered requests")
	}
	l, late := load.NewLatency(), load.NewLatency()
	open := load.Open{Addr: addr, Protocol: load.Redis(), Connections: openConnections, Rate: rate, Pause: load.Sleep}
	cpu, err := m.piece(ctx, func(ctx context.Context, t *load.Tally) { open.Run(ctx, t, l, late) }, func() {
		l.Reset()
		late.Reset()
	})
	if err != nil {
		return err
	}
	m.quantiles(l)
	m.s.Values["rate"] = float64(m.s.Units) / m.s.Seconds
	m.s.Values["send_late_p99_us"] = micros(late.Quantile(0.99))
	if m.target.i != nil {
		m.s.Values["cpu_us"] = cpu.Seconds() * 1e6 / float64(m.s.Units)
	}
	return nil
}

// beside measures requests at a low rate while bulk streams run.
func (m measurement) beside(ctx context.Context, addr, streams string) error {
	l := load.NewLatency()
	open := load.Open{Addr: addr, Protocol: load.Redis(), Connections: besideConnections, Rate: besideRate, Pause: load.Sleep}
	var small load.Tally
	_, err := m.piece(ctx, func(ctx context.Context, t *load.Tally) {
		var both sync.WaitGroup
		both.Go(func() { load.Bulk{Addr: streams, Streams: bulkStreams}.Run(ctx, t) })
		both.Go(func() { open.Run(ctx, &small, l, nil) })
		both.Wait()
	}, l.Reset)
	m.failures(&small)
	if err != nil {
		return err
	}
	m.quantiles(l)
	m.s.Values["gb_per_s"] = float64(m.s.Units) / 1e9 / m.s.Seconds
	return nil
}

func (m measurement) quantiles(l *load.Latency) {
	for key, share := range map[string]float64{"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999, "max_us": 1} {
		m.s.Values[key] = micros(l.Quantile(share))
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// piece runs a load for a slice, and after a warm-up, at whose end it calls warm if
// that is not nil, measures what was done and the balancer's CPU in it.
func (m measurement) piece(ctx context.Context, run func(context.Context, *load.Tally), warm func()) (time.Duration, error) {
	var tally load.Tally
	loading, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(loading, &tally)
	}()
	defer m.failures(&tally)
	defer func() {
		cancel()
		<-ended
	}()
	wait(ctx, m.slice/warmShare)
	if warm != nil {
		warm()
	}
	before, err := m.read(&tally)
	if err != nil {
		return 0, err
	}
	wait(ctx, m.slice-m.slice/warmShare)
	after, err := m.read(&tally)
	if err != nil {
		return 0, err
	}
	m.s.Seconds, m.s.Units = after.at.Sub(before.at).Seconds(), after.done-before.done
	if m.s.Units == 0 {
		return 0, errNothing
	}
	return after.cpu.Since(before.cpu)
}

// reading is what a load and a balancer had done at an instant.
type reading struct {
	at   time.Time
	done int64
	cpu  proc.CPU
}

func (m measurement) read(t *load.Tally) (reading, error) {
	var now reading
	var err error
	if m.target.i != nil {
		now.cpu, err = m.target.i.CPU()
	}
	now.at, now.done = time.Now(), t.Done()
	return now, err
}

// failures adds those of a load.
func (m measurement) failures(t *load.Tally) {
	for kind, n := range t.Failures() {
		if m.s.Failures == nil {
			m.s.Failures = make(map[string]int64)
		}
		m.s.Failures[string(kind)] += n
	}
	if err := t.Err(); err != nil && m.s.Error == "" {
		m.s.Error = err.Error()
	}
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
