package admin

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fake is a process of one service, s, with the backends of names. It notes what it is
// asked to do.
type fake struct {
	mu       sync.Mutex
	calls    []string
	revision uint64
	fault    *api.Fault // answered to all that can fail
	notReady string
	others   uint64 // changes that others make right after each
	hangs    bool   // what serves clients
	services []api.Service
	panics   bool

	entered chan struct{} // if not nil, a Reload tells that it has begun
	release chan struct{} // and waits
	feed    chan streamed // what Follow passes on
}

var names = []string{"b1", "unix:/run/x.sock", "[::1]:80", "10.0.0.1:80", "50% off?", "..", "a b+c"}

func newFake() *fake {
	s := api.Service{Name: "s", Usable: 1}
	for _, n := range names {
		s.Backends = append(s.Backends, api.Backend{Name: n, Address: n})
	}
	return &fake{revision: 7, services: []api.Service{s}, feed: make(chan streamed)}
}

func (f *fake) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		panic("fake: as asked for")
	}
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	if f.fault != nil {
		return &api.ControlError{Fault: *f.fault}
	}
	return nil
}

// change is a note of what grows the revision.
func (f *fake) change(m api.Mark, format string, args ...any) error {
	err := f.note("%s if=%d", fmt.Sprintf(format, args...), m.If)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	if m.If != 0 && m.If != f.revision {
		return refused(api.CodeStale, "revision is %d", f.revision)
	}
	f.revision++
	if m.Made != nil {
		*m.Made = f.revision
	}
	f.revision += f.others
	return nil
}

// noted returns what was noted since it was asked last.
func (f *fake) noted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.calls = nil }()
	return f.calls
}

func (f *fake) Revision() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision
}

func (f *fake) Status() api.Status {
	f.note("status")
	return api.Status{Version: "v1", Revision: f.Revision()}
}

func (f *fake) Ready() (bool, string) { return f.notReady == "", f.notReady }

func (f *fake) Turns(ctx context.Context) error {
	if !f.hangs {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("event loop 1: %w", context.Cause(ctx))
}

func (f *fake) Services() []api.Service {
	f.note("services")
	return f.services
}

func (f *fake) Service(name string) (api.Service, error) {
	if err := f.note("service %s", name); err != nil {
		return api.Service{}, err
	}
	i := slices.IndexFunc(f.services, func(s api.Service) bool { return s.Name == name })
	if i < 0 {
		return api.Service{}, refused(api.CodeNotFound, "no service %q", name)
	}
	return f.services[i], nil
}

func (f *fake) Sessions(filter api.Filter, sort string, limit int) (api.Sessions, error) {
	return api.Sessions{}, f.note("sessions %v %s %d", filter, sort, limit)
}

func (f *fake) Failures(service string, limit int) []api.Failure {
	f.note("failures %s %d", service, limit)
	return nil
}

func (f *fake) Events(since uint64, service string) api.Events {
	f.note("events %d %s", since, service)
	return api.Events{}
}

func (f *fake) Follow(ctx context.Context, since uint64, fn func(api.Event, int) error) error {
	if err := f.note("follow %d", since); err != nil {
		return err
	}
	for {
		select {
		case e := <-f.feed:
			if err := fn(e.event, e.lost); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) Explain(service, backend string, at time.Time) (api.Explanation, error) {
	return api.Explanation{Service: service, Backend: backend}, f.note("explain %s %s %s", service, backend, at.UTC().Format(time.RFC3339))
}

func (f *fake) Pick(service string, source netip.Addr) (api.Pick, error) {
	return api.Pick{Service: service}, f.note("pick %s %s", service, source)
}

func (f *fake) Plan(name string, file []byte) (api.Plan, error) {
	return api.Plan{}, f.note("plan %s %d bytes", name, len(file))
}

func (f *fake) Config() []byte {
	f.note("config")
	return []byte("services: []\n")
}

func (f *fake) Reload(m api.Mark) (api.Plan, error) {
	if f.entered != nil {
		f.entered <- struct{}{}
		<-f.release
	}
	return api.Plan{Applied: true}, f.change(m, "reload")
}

func (f *fake) SetAdmin(m api.Mark, service, backend, state string) (api.Backend, error) {
	return api.Backend{Name: backend}, f.change(m, "admin %s %s %s", service, backend, state)
}

func (f *fake) Set(m api.Mark, service, backend string, to api.Setting) (api.Backend, error) {
	text := ""
	for name, n := range map[string]*int{"weight": to.Weight, "priority": to.Priority, "max_connections": to.MaxConnections} {
		if n != nil {
			text += fmt.Sprintf(" %s=%d", name, *n)
		}
	}
	return api.Backend{Name: backend}, f.change(m, "set %s %s%s", service, backend, text)
}

func (f *fake) Add(m api.Mark, service string, b api.NewBackend) (api.Backend, error) {
	name := b.Name
	if name == "" {
		name = b.Address
	}
	weight := 1
	if b.Weight != nil {
		weight = *b.Weight
	}
	return api.Backend{Name: name}, f.change(m, "add %s %s %s weight=%d %d %d", service, name, b.Address, weight, b.Priority, b.MaxConnections)
}

func (f *fake) Remove(m api.Mark, service, backend string, within *time.Duration) (api.Removed, error) {
	text := "default"
	if within != nil {
		text = within.String()
	}
	return api.Removed{}, f.change(m, "remove %s %s %s", service, backend, text)
}

func (f *fake) Pause(m api.Mark, service string, d time.Duration) error {
	return f.change(m, "pause %s %s", service, d)
}

func (f *fake) Resume(m api.Mark, service string) (bool, error) {
	return true, f.change(m, "resume %s", service)
}

func (f *fake) Kill(m api.Mark, filter api.Filter) (int, error) {
	return 3, f.change(m, "kill %v as %s", filter, m.Who)
}
