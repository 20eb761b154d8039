package balancer

import (
	"context"
	"fmt"
	"os"
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

// Start writes a configuration below dir and runs a balancer found with Find until it
// listens. The services' Listen is filled in. Errors are those of files, of an adapter's
// templates, and of package proc. The caller must call Close.
func Start(ctx context.Context, s Spec, dir string, settings Settings) (*Instance, error) {
	i := &Instance{Spec: s, addrs: make(map[string]string)}
	dir, err := os.MkdirTemp(dir, s.Name+"-")
	if err != nil {
		return nil, err
	}
	i.Process, err = proc.StartListening(ctx, len(settings.Services), func(ports []int) (proc.Command, error) {
		return i.command(newSetup(ctx, s, dir, listenOn(settings, ports)))
	})
	if err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}
	return i, nil
}

// command writes the configuration and returns what runs it.
func (i *Instance) command(in setup) (proc.Command, error) {
	for _, service := range in.Services {
		i.addrs[service.Name] = service.Listen
	}
	var err error
	if i.Config, err = i.Spec.text(in); err != nil {
		return proc.Command{}, err
	}
	args, err := i.Spec.args(in)
	if err != nil {
		return proc.Command{}, err
	}
	return proc.Command{
		Name: i.Spec.Name, Path: i.Spec.Path, Args: args, Dir: in.Dir,
		Env:    []string{"GOMAXPROCS=" + strconv.Itoa(Threads)},
		Parent: i.Spec.Kind == Nginx || i.Spec.Adapter != nil,
	}, os.WriteFile(in.File, []byte(i.Config), 0o600)
}

// Config returns the text of the configuration that Start would write for s, with ports
// that are free now.
func Config(ctx context.Context, s Spec, dir string, settings Settings) (string, error) {
	ports, err := proc.FreePorts(len(settings.Services))
	if err != nil {
		return "", err
	}
	return s.text(newSetup(ctx, s, dir, listenOn(settings, ports)))
}

// listenOn returns the settings with an address for each service.
func listenOn(settings Settings, ports []int) Settings {
	settings.Services = slices.Clone(settings.Services)
	for i := range settings.Services {
		settings.Services[i].Listen = proc.Loopback(ports[i])
	}
	return settings
}
