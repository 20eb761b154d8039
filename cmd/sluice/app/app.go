package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/cmd/sluice/metrics"
	"github.com/sluicelb/sluice/cmd/sluice/systemd"
	"github.com/sluicelb/sluice/health/history"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

// reportEvery is how often a drain says what is left.
const reportEvery = 5 * time.Second

// Options are what an App has from its process. The zero value is usable.
type Options struct {
	Engine     Engine
	Log        *slog.Logger                                       // nil discards
	Level      *slog.LevelVar                                     // of Log; nil = it cannot be changed
	Path       string                                             // of the file, for a reload; "" = there is none
	Load       func(path string) (config.File, error)             // nil = config.Load
	Parse      func(name string, src []byte) (config.File, error) // nil = config.Parse
	Passed     *systemd.Sockets                                   // nil = none
	Version    string
	LogDropped func() int64 // records of the log that were dropped; nil = 0
}

// App is a balancer of one configuration, which a reload changes.
type App struct {
	Options
	log     *slog.Logger
	engine  relay.Engine
	budget  *l4.Descriptors
	history *history.History
	metrics *metrics.Metrics
	born    time.Time
	events  events
	failed  failures

	changing chan struct{} // filled by whoever changes the rest: one at a time
	revision atomic.Uint64
	state    sync.RWMutex // guards what follows, for those who only look; its writer holds changing too
	file     config.File  // in force: the file's, and what operators have changed since
	services []*service
	leaving  []*service // removed, with sessions still
	reloads  reloads

	notReady sync.Once
	ending   chan struct{} // closed with draining set
	ready    atomic.Bool   // every listener is bound and each first probe has ended
	draining atomic.Bool
	serving  sync.WaitGroup // listeners, and what outlasts a change
	stop     chan struct{}  // closed when the App ends
	parting  sync.WaitGroup // removed services that drain
	life     context.Context
	die      context.CancelFunc // the end of life: what still drains is reset
}

// New makes an App that does nothing yet but hold its relay engine: it is to be
// started. Errors come from values that file's own validation lets pass and a package
// below does not, and from want of descriptors.
func New(file config.File, o Options) (*App, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Load == nil {
		o.Load = config.Load
	}
	if o.Parse == nil {
		o.Parse = config.Parse
	}
	limits := limitsFor(file, descriptorLimit(), o.Engine.descriptors())
	if limits.tight {
		o.Log.Warn("descriptor limit is low", "limit", limits.descriptors.Limit(), "sessions", limits.descriptors.Sessions())
	}
	driver, err := o.Engine.make(limits.pipes)
	if err != nil {
		return nil, err
	}
	a := &App{
		Options: o, log: o.Log, engine: driver, budget: limits.descriptors, file: file, born: time.Now(), stop: make(chan struct{}),
		changing: make(chan struct{}, 1), ending: make(chan struct{}),
		history: history.New(history.Config{Dir: file.StateDir, Log: o.Log}),
	}
	a.life, a.die = context.WithCancel(context.Background())
	a.revision.Store(1)
	a.metrics = metrics.New(metrics.Config{Services: a.Services, Status: a.Status, Log: o.Log})
	if err := a.assemble(); err != nil {
		driver.Close()
		a.history.Close()
		return nil, err
	}
	return a, nil
}

// assemble makes the services.
func (a *App) assemble() error {
	for _, c := range a.file.Services {
		s, err := a.newService(c)
		if err != nil {
			return err
		}
		a.services = append(a.services, s)
	}
	return nil
}

// Start binds every listener, all or none, then probes and serves. Its error names
// the service and the address; the App is of no use then.
func (a *App) Start(ctx context.Context) error {
	for _, s := range a.services {
		if err := a.bind(ctx, s); err != nil {
			for _, s := range a.services {
				s.unbind()
			}
			a.engine.Close()
			a.history.Close()
			return err
		}
	}
	for _, s := range a.services {
		a.begin(s)
	}
	a.serving.Go(a.awaitReady)
	return nil
}

// begin has a service probe and serve.
func (a *App) begin(s *service) {
	for _, w := range Warnings(s.cfg) {
		a.log.Warn("check", "service", s.name, "warning", w)
	}
	s.watch()
	for _, l := range s.listening {
		a.serve(s, l)
	}
}

// awaitReady notes when the first round of probes has ended.
func (a *App) awaitReady() {
	for _, s := range a.current() {
		select {
		case <-a.settled(s):
		case <-a.stop:
			return
		}
	}
	a.ready.Store(true)
	a.events.add(Event{Kind: "lifecycle", Text: "ready: every listener is bound, each first probe has ended"})
}

// settled returns a channel that is closed when each first probe of a service has ended.
func (a *App) settled(s *service) <-chan struct{} {
	a.state.RLock()
	defer a.state.RUnlock()
	return s.monitor.Settled()
}

// current returns the services in force.
func (a *App) current() []*service {
	a.state.RLock()
	defer a.state.RUnlock()
	return slices.Clone(a.services)
}

// NotReady has Ready say no from now on: the outside is to send no more clients.
func (a *App) NotReady() {
	a.notReady.Do(func() {
		a.draining.Store(true)
		close(a.ending)
	})
}

// Drain stops accepting, waits for the sessions to end, resets those that are left
// when ctx is done, and returns how many those were. It is to be called after Start; a second
// call does nothing. While it waits it calls progress, if there is one, from time to time.
func (a *App) Drain(ctx context.Context, progress func(sessions int64)) (forced int) {
	a.NotReady()
	select {
	case a.changing <- struct{}{}: // for good: nothing changes any more
	case <-a.stop:
		return 0 // that is under way, or over
	}
	a.log.Info("draining", "sessions", a.sessions(), "timeout", a.file.ShutdownTimeout.String())
	var mu sync.Mutex
	var services sync.WaitGroup
	for _, s := range a.services {
		services.Go(func() {
			n := s.l4.Shutdown(ctx)
			mu.Lock()
			defer mu.Unlock()
			forced += n
		})
	}
	defer context.AfterFunc(ctx, a.die)()
	services.Go(a.parting.Wait)
	close(a.stop)
	a.report(&services, progress)
	a.die()
	a.serving.Wait()
	a.engine.Close()
	for _, s := range a.services {
		s.monitor.Close()
	}
	a.history.Close()
	return forced
}

// report says from time to time what is left, until all services have drained.
func (a *App) report(services *sync.WaitGroup, progress func(int64)) {
	drained := make(chan struct{})
	go func() {
		services.Wait()
		close(drained)
	}()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-drained:
			return
		case <-tick.C:
			n := a.sessions()
			a.log.Info("draining", "sessions", n)
			if progress != nil {
				progress(n)
			}
		}
	}
}

func (a *App) sessions() (n int64) {
	for _, s := range a.withSessions() {
		n += s.l4.Stats().Active
	}
	return n
}

// Service implements api.Control.
func (a *App) Service(name string) (api.Service, error) { return a.serviceView(name) }

// L4 returns a service's data path by name, nil if there is none.
func (a *App) L4(name string) *l4.Service {
	if s := a.find(name); s != nil {
		return s.l4
	}
	return nil
}

// find returns a service in force by name, nil if there is none.
func (a *App) find(name string) *service {
	a.state.RLock()
	defer a.state.RUnlock()
	for _, s := range a.services {
		if s.name == name {
			return s
		}
	}
	return nil
}

// Addresses returns where a service listens, ports filled in. Empty before Start.
func (a *App) Addresses(name string) (all []string) {
	if s := a.find(name); s != nil {
		a.state.RLock()
		defer a.state.RUnlock()
		for _, l := range s.listening {
			all = append(all, listenAddress(l.ln.Addr()))
		}
	}
	return all
}

// Discard gives up an App that was not started.
func (a *App) Discard() {
	a.NotReady()
	for _, s := range a.services {
		s.l4.Close()
		s.monitor.Close()
	}
	a.engine.Close()
	a.history.Close()
}

// Shutdown returns how long the App is to accept clients when it is not ready any more, and
// how long its drain may take after that; 0 is without bound.
func (a *App) Shutdown() (delay, within time.Duration) {
	a.state.RLock()
	defer a.state.RUnlock()
	return a.file.ShutdownDelay, a.file.ShutdownTimeout
}

// Turns tells that the process does its work: it returns, and soon, unless something hangs.
func (a *App) Turns() bool {
	a.Status()
	return true
}

// Metrics returns what Prometheus may read.
func (a *App) Metrics() *metrics.Metrics { return a.metrics }

// listenAddress is an address as the file would name it.
func listenAddress(a net.Addr) string {
	if a.Network() == "unix" {
		return fmt.Sprintf("unix:%s", a)
	}
	return a.String()
}

// serve accepts clients for a service until the listener is closed.
func (a *App) serve(s *service, l *listening) {
	a.log.Info("listening", "service", s.name, "address", listenAddress(l.ln.Addr()))
	a.serving.Go(func() {
		defer close(l.served)
		err := s.l4.Serve(l.ln)
		if !errors.Is(err, l4.ErrServiceClosed) && !l.closed.Load() {
			a.log.Error("listener lost", "service", s.name, "address", listenAddress(l.ln.Addr()), "error", err)
		}
	})
}
