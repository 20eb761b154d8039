package compare

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/balancer"
)

// Names of the services.
const (
	serviceHTTP   = "http"
	serviceRedis  = "redis"
	serviceStream = "stream"
)

// serviceOf is the service that a workload uses; Beside uses the stream service too.
func serviceOf(w Workload) string {
	switch w {
	case Connection:
		return serviceHTTP
	case Request, Request1, Latency, Beside:
		return serviceRedis
	}
	return serviceStream
}

// backends are those of a run.
type backends []*backend.Backend

func (all backends) close() {
	for _, b := range all {
		b.Close()
	}
}

// startBackends starts those that the workloads need. Workloads whose backend is not
// installed are left out, with a note; it is an error if none remains. The caller must
// close what is returned, also on an error.
func (r *runner) startBackends(ctx context.Context) (backends, error) {
	var all backends
	var missing error
	for _, service := range []string{serviceHTTP, serviceRedis, serviceStream} {
		if !slices.ContainsFunc(r.workloads, uses(service)) {
			continue
		}
		b, err := r.startBackend(ctx, service)
		if errors.Is(err, backend.ErrMissing) {
			missing = err
			r.note("%v: left out what needs it", err)
			r.workloads = slices.DeleteFunc(r.workloads, uses(service))
			continue
		}
		if err != nil {
			return all, err
		}
		all = append(all, b)
		r.result.Backends = append(r.result.Backends, b.Version)
		r.services = append(r.services, balancer.Service{Name: service, Backends: b.Addrs})
	}
	if len(r.workloads) == 0 {
		return all, missing
	}
	return all, nil
}

func uses(service string) func(Workload) bool {
	return func(w Workload) bool { return serviceOf(w) == service || w == Beside && service == serviceStream }
}

func (r *runner) startBackend(ctx context.Context, service string) (*backend.Backend, error) {
	dir := filepath.Join(r.dir, "backend-"+service)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	switch service {
	case serviceHTTP:
		return backend.HTTP(ctx, dir)
	case serviceRedis:
		return backend.Redis(ctx, dir)
	}
	return backend.Stream(ctx, r.c.Worker)
}

// startBalancers starts them all, and makes the targets.
func (r *runner) startBalancers(ctx context.Context) error {
	for _, spec := range r.c.Balancers {
		i, err := balancer.Start(ctx, spec, r.dir, r.settings())
		if err != nil {
			return err
		}
		r.targets = append(r.targets, target{name: spec.Name, spec: spec, i: i, dead: new(bool)})
		r.result.Balancers = append(r.result.Balancers, Balancer{
			Name: spec.Name, Kind: spec.Kind, Path: spec.Path, Version: spec.Version, Config: i.Config,
		})
	}
	r.targets = append(r.targets, target{name: Direct, dead: new(bool)})
	return nil
}

// settings are the same for every balancer.
func (r *runner) settings() balancer.Settings {
	return balancer.Settings{Services: r.services, Sessions: r.room()}
}

func (r *runner) stopBalancers() {
	for _, t := range r.targets {
		if t.i != nil {
			t.i.Close()
		}
	}
}

// addr is where a target serves.
func (r *runner) addr(t target, service string) string {
	if t.i != nil {
		return t.i.Addr(service)
	}
	for _, s := range r.services {
		if s.Name == service {
			return s.Backends[0]
		}
	}
	return ""
}

// Configs returns the configuration of each balancer as a run of c would write it, with
// addresses that are free now and backends that do not exist.
func Configs(ctx context.Context, c Config) ([]Balancer, error) {
	r, err := newRunner(c)
	if err != nil {
		return nil, err
	}
	services := []balancer.Service{
		{Name: serviceHTTP, Backends: []string{"127.0.0.1:80", "127.0.0.2:80"}},
		{Name: serviceRedis, Backends: []string{"127.0.0.1:6379"}},
		{Name: serviceStream, Backends: []string{"127.0.0.1:9"}},
	}
	var all []Balancer
	for _, spec := range r.c.Balancers {
		text, err := balancer.Config(ctx, spec, filepath.Join(os.TempDir(), "l4bench"), balancer.Settings{Services: services, Sessions: r.room()})
		if err != nil {
			return nil, err
		}
		all = append(all, Balancer{Name: spec.Name, Kind: spec.Kind, Path: spec.Path, Version: spec.Version, Config: text})
	}
	return all, nil
}
