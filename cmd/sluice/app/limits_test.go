package app

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/config"
)

// C98: the budget leaves room for pipes, probes and listeners.
func TestDescriptorsAreSharedOut(t *testing.T) {
	service := func(listeners, backends int, check string) config.Service {
		return config.Service{
			Listen: make([]string, listeners), Backends: make([]config.Backend, backends), Check: config.Check{Type: check},
		}
	}
	for _, c := range []struct {
		name     string
		limit    int
		services []config.Service
		sessions int64
		pipes    int
	}{
		{"a small limit", 64, []config.Service{service(1, 3, "tcp")}, 21, 4},
		{"a hundred sessions under 256", 256, []config.Service{service(1, 3, "tcp")}, 105, 16},
		{"nothing probed", 256, []config.Service{service(1, 3, "none")}, 107, 16},
		{"usual", 20000, []config.Service{service(2, 10, "http")}, 8739, 1250},
		{"more backends than descriptors", 1024, []config.Service{service(1, 5000, "tcp")}, 256, 64},
		{"hardly any", 8, []config.Service{service(1, 1, "tcp")}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := limitsFor(config.File{Services: c.services}, c.limit)
			if got.descriptors.Sessions() != c.sessions || got.pipes != c.pipes {
				t.Errorf("%d sessions and %d pipes, want %d and %d", got.descriptors.Sessions(), got.pipes, c.sessions, c.pipes)
			}
		})
	}
	if unlimited := limitsFor(config.File{}, 0); unlimited.descriptors.Limit() != 0 || unlimited.descriptors.Sessions() < 1<<40 {
		t.Error("no limit known, yet one applied")
	}
}
