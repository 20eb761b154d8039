package balancer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/bench/proc"
)

// stopWithin is how long a balancer may take to stop before it is killed.
const stopWithin = 3 * time.Second

// Instance is a balancer that runs.
type Instance struct {
	*proc.Process
	Spec Spec
	// Config is the text of its configuration file.
	Config string
	addrs  map[string]string
}

// Addr is where it listens for a service; empty = it has none of that name.
func (i *Instance) Addr(service string) string { return i.addrs[service] }

// Close stops it. Closing twice is allowed.
func (i *Instance) Close() { i.Stop(stopWithin) }

// Start writes a configuration below dir and runs a balancer found with Find, with room
// for the given number of sessions, until it listens. The services' Listen is filled
// in. Errors are those of files and of package proc. The caller must call Close.
func Start(ctx context.Context, s Spec, dir string, services []Service, sessions int) (*Instance, error) {
	i := &Instance{Spec: s, addrs: make(map[string]string)}
	dir, err := os.MkdirTemp(dir, s.Name+"-")
	if err != nil {
		return nil, err
	}
	i.Process, err = proc.StartListening(ctx, len(services), func(ports []int) (proc.Command, error) {
		setup := newSetup(ctx, s, dir, listenOn(services, ports), sessions)
		for _, service := range setup.Services {
			i.addrs[service.Name] = service.Listen
		}
		var err error
		if i.Config, err = s.Kind.text(setup); err != nil {
			return proc.Command{}, err
		}
		file := filepath.Join(dir, s.Kind.file())
		return proc.Command{
			Name: s.Name, Path: s.Path, Args: s.Kind.args(dir, file), Dir: dir,
			Env:    []string{"GOMAXPROCS=" + strconv.Itoa(Threads)},
			Parent: s.Kind == Nginx,
		}, os.WriteFile(file, []byte(i.Config), 0o600)
	})
	if err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}
	return i, nil
}

// Config returns the text of the configuration that Start would write for s, with ports
// that are free now.
func Config(ctx context.Context, s Spec, dir string, services []Service, sessions int) (string, error) {
	ports, err := proc.FreePorts(len(services))
	if err != nil {
		return "", err
	}
	return s.Kind.text(newSetup(ctx, s, dir, listenOn(services, ports), sessions))
}

// listenOn returns the services with an address each.
func listenOn(services []Service, ports []int) []Service {
	services = slices.Clone(services)
	for i := range services {
		services[i].Listen = proc.Loopback(ports[i])
	}
	return services
}
