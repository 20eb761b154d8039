package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/cmd/sluice/metrics"
	"github.com/sluicelb/sluice/cmd/sluice/systemd"
	"github.com/sluicelb/sluice/health/history"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

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

	sessionIDs atomic.Uint64 // the newest session's, of all services

	changing chan struct{} // filled by whoever changes the rest, one at a time; before Start has ended, by New
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
	serving  sync.WaitGroup // listeners
	stop     chan struct{}  // closed when the App ends
	once     sync.Once      // of that

	parting sync.WaitGroup     // services that are leaving
	patient context.Context    // ends when those are to leave at once
	hurry   context.CancelFunc // ends it
	cut     atomic.Int64       // sessions that were reset because of that
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
	a.patient, a.hurry = context.WithCancel(context.Background())
	a.changing <- struct{}{}
	a.revision.Store(1)
	a.metrics = metrics.New(metrics.Config{Services: a.Services, Status: a.Status, Log: o.Log})
	if err := a.assemble(); err != nil {
		a.Discard()
		return nil, err
	}
	return a, nil
}

// assemble makes the services.
func (a *App) assemble() error {
	for _, c := range a.file.Services {
		s, err := a.newService(c, a.file.Log.Sessions)
		if err != nil {
			return err
		}
		a.services = append(a.services, s)
	}
	return nil
}

// Start binds every listener, all or none, then probes and serves. Changes that are asked
// for meanwhile wait. Its error names the service and the address; the App is of no use then.
func (a *App) Start(ctx context.Context) error {
	for _, s := range a.services {
		all, err := a.bind(ctx, s)
		a.write(func() { s.listening = all })
		if err != nil {
			a.Discard()
			return err
		}
	}
	a.warnOfUnused()
	a.cameUp()
	for _, s := range a.services {
		a.begin(s)
	}
	a.serving.Go(a.awaitReady)
	<-a.changing
	return nil
}

// begin has a service probe and serve.
func (a *App) begin(s *service) {
	a.warn(s.name, Warnings(s.cfg))
	a.noteBack(s.name, "in the file again", s.members...)
	s.watch()
	for _, l := range s.listening {
		a.serve(s, l)
	}
}

func (a *App) warn(service string, all []string) {
	for _, w := range all {
		a.log.Warn("check", "service", service, "warning", w)
	}
}

// awaitReady notes when the first round of probes has ended, whatever is reloaded meanwhile.
func (a *App) awaitReady() {
	for c := a.nextRound(); c != nil; c = a.nextRound() {
		select {
		case <-c:
		case <-a.stop:
			return
		}
	}
}

// nextRound is unsettled; with nil the App is ready, or ends. It looks while nothing changes:
// a reload may be about to begin other probes.
func (a *App) nextRound() <-chan struct{} {
	select {
	case a.changing <- struct{}{}:
		defer func() { <-a.changing }()
	case <-a.stop:
		return nil
	}
	c := a.unsettled()
	if c == nil {
		a.ready.Store(true)
		a.events.add(Event{Kind: "lifecycle", Text: "ready: every listener is bound, each first probe has ended"})
	}
	return c
}

// unsettled returns a channel that is closed when the first probes of one more service have
// ended; nil if all have.
func (a *App) unsettled() <-chan struct{} {
	a.state.RLock()
	defer a.state.RUnlock()
	for _, s := range a.services {
		c := s.monitor.Settled()
		select {
		case <-c:
		default:
			return c
		}
	}
	return nil
}

// current returns the services in force.
func (a *App) current() []*service {
	a.state.RLock()
	defer a.state.RUnlock()
	return slices.Clone(a.services)
}

// all returns the services in force, and then those that are leaving.
func (a *App) all() []*service {
	a.state.RLock()
	defer a.state.RUnlock()
	return slices.Concat(a.services, a.leaving)
}

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

// Shutdown returns how long the App is to accept clients when it is not ready any more, and
// how long its drain may take after that; 0 is without bound.
func (a *App) Shutdown() (delay, within time.Duration) {
	a.state.RLock()
	defer a.state.RUnlock()
	return a.file.ShutdownDelay, a.file.ShutdownTimeout
}

// Turns implements api.Control. It waits for the locks that a status needs, and for every
// event loop.
func (a *App) Turns(ctx context.Context) error {
	a.Status()
	if t, able := a.engine.(relay.Turner); able {
		return t.Turns(ctx)
	}
	return nil
}

// Metrics returns what Prometheus may read.
func (a *App) Metrics() *metrics.Metrics { return a.metrics }
