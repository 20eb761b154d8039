package app

import (
	"runtime"
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
		engine   int
		services []config.Service
		sessions int64
		pipes    int // before what the standard library keeps
		tight    bool
	}{
		{"a small limit", 64, 0, []config.Service{service(1, 3, "tcp")}, 23, 2, false},
		{"a hundred sessions under 256", 256, 0, []config.Service{service(1, 3, "tcp")}, 113, 8, false},
		{"nothing probed", 256, 0, []config.Service{service(1, 3, "none")}, 115, 8, false},
		{"usual", 20000, 0, []config.Service{service(2, 10, "http")}, 9364, 625, false},
		{"more backends than descriptors", 1024, 0, []config.Service{service(1, 5000, "tcp")}, 256, 32, true},
		{"event loops", 20000, 128, []config.Service{service(2, 10, "http")}, 9300, 625, false},
		{"hardly any", 8, 0, []config.Service{service(1, 1, "tcp")}, 2, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := limitsFor(config.File{Services: c.services}, c.limit, c.engine)
			pipes := max(c.pipes-2*runtime.GOMAXPROCS(0), 1)
			if got.descriptors.Sessions() != c.sessions || got.pipes != pipes || got.tight != c.tight {
				t.Errorf("%d sessions, %d pipes, tight %v; want %d, %d, %v", got.descriptors.Sessions(), got.pipes, got.tight, c.sessions, pipes, c.tight)
			}
		})
	}
	if unlimited := limitsFor(config.File{}, 0, 0); unlimited.descriptors.Limit() != 0 || unlimited.descriptors.Sessions() < 1<<40 {
		t.Error("no limit known, yet one applied")
	}
}
