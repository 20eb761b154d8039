package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/health/history"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

// reportEvery is how often a drain says what is left.
const reportEvery = 5 * time.Second

// App is a balancer of one configuration.
type App struct {
	file     config.File
	log      *slog.Logger
	engine   relay.Engine
	history  *history.History
	services []*service
	serving  sync.WaitGroup
}

// New makes an App that does nothing yet but hold its relay engine: it is to be
// started. Errors come from values that file's own validation lets pass and a package
// below does not, and from want of descriptors.
func New(file config.File, engine Engine, log *slog.Logger) (*App, error) {
	limits := limitsFor(file, descriptorLimit(), engine.descriptors())
	if limits.tight {
		log.Warn("descriptor limit is low", "limit", limits.descriptors.Limit(), "sessions", limits.descriptors.Sessions())
	}
	driver, err := engine.make(limits.pipes)
	if err != nil {
		return nil, err
	}
	a := &App{file: file, log: log, engine: driver, history: history.New(history.Config{Dir: file.StateDir, Log: log})}
	if err := a.assemble(limits.descriptors); err != nil {
		driver.Close()
		a.history.Close()
		return nil, err
	}
	return a, nil
}

// assemble makes the services.
func (a *App) assemble(d *l4.Descriptors) error {
	for _, c := range a.file.Services {
		s, err := a.newService(c, d)
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
		if err := s.bind(ctx); err != nil {
			for _, s := range a.services {
				s.unbind()
			}
			a.engine.Close()
			a.history.Close()
			return err
		}
	}
	for _, s := range a.services {
		if w := warning(s.cfg); w != "" {
			a.log.Warn("check", "service", s.cfg.Name, "warning", w)
		}
		s.watch()
	}
	for _, s := range a.services {
		for _, ln := range s.listeners {
			a.log.Info("listening", "service", s.cfg.Name, "address", listenAddress(ln.Addr()))
			a.serving.Go(func() { a.serve(s, ln) })
		}
	}
	return nil
}

func (a *App) serve(s *service, ln net.Listener) {
	if err := s.l4.Serve(ln); !errors.Is(err, l4.ErrServiceClosed) {
		a.log.Error("listener lost", "service", s.cfg.Name, "address", listenAddress(ln.Addr()), "error", err)
	}
}

// Drain stops accepting, waits for the sessions to end, resets those that are left
// when ctx is done, and returns how many those were. It is to be called once after
// Start.
func (a *App) Drain(ctx context.Context) (forced int) {
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
	a.report(&services)
	a.serving.Wait()
	a.engine.Close()
	for _, s := range a.services {
		s.monitor.Close()
	}
	a.history.Close()
	return forced
}

// report says from time to time what is left, until all services have drained.
func (a *App) report(services *sync.WaitGroup) {
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
			a.log.Info("draining", "sessions", a.sessions())
		}
	}
}

func (a *App) sessions() (n int64) {
	for _, s := range a.services {
		n += s.l4.Stats().Active
	}
	return n
}

// Service returns a service by name, nil if there is none.
func (a *App) Service(name string) *l4.Service {
	for _, s := range a.services {
		if s.cfg.Name == name {
			return s.l4
		}
	}
	return nil
}

// Addresses returns where a service listens, ports filled in. Empty before Start.
func (a *App) Addresses(name string) (all []string) {
	for _, s := range a.services {
		if s.cfg.Name == name {
			for _, ln := range s.listeners {
				all = append(all, listenAddress(ln.Addr()))
			}
		}
	}
	return all
}

// listenAddress is an address as the file would name it.
func listenAddress(a net.Addr) string {
	if a.Network() == "unix" {
		return fmt.Sprintf("unix:%s", a)
	}
	return a.String()
}
