package compare

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
)

// against compares an honest fake with faulty ones.
func against(t *testing.T, workload Workload, faults ...string) *Result {
	t.Helper()
	c := Config{
		Worker: []string{os.Args[0], workerArg}, Duration: 5 * time.Second, Rounds: 1,
		Workloads: []Workload{workload}, Sessions: 120,
	}
	for _, fault := range append([]string{"honest"}, faults...) {
		c.Balancers = append(c.Balancers, fake(t, fault))
	}
	return complete(t, c)
}

// value is the median of one key.
func value(t *testing.T, r *Result, name string, w Workload, key string) float64 {
	t.Helper()
	s := r.Summary(name, Metric{Workload: w, Key: key})
	if s.N == 0 {
		t.Fatalf("%s has no %s in %s: %+v", name, key, w, r.Samples)
	}
	return s.Median
}

// Both fakes do the same besides, so the difference is what one burns.
func TestCPUThatABalancerBurnsIsMeasured(t *testing.T) {
	for _, w := range []Workload{Request1, Request, Connection} {
		t.Run(string(w), func(t *testing.T) {
			r := against(t, w, "burn")
			honest, burning := value(t, r, "honest", w, "cpu_us"), value(t, r, "burn", w, "cpu_us")
			reads := 1.0 // from a client, for each exchange
			if w == Connection {
				reads = 2 // the second is its end
			}
			want := reads * float64(fakeBurn/time.Microsecond)
			if more := burning - honest; more < 0.8*want || more > 1.6*want {
				t.Errorf("%.0f µs more than honest's %.0f, burned %.0f", more, honest, want)
			}
			if ratio, _ := r.Ratio("burn", Metric{Workload: w, Key: "cpu_us"}); math.Abs(ratio-burning/honest) > 1e-9 {
				t.Errorf("ratio %v of %v and %v", ratio, burning, honest)
			}
		})
	}
}

func TestMemoryAndDescriptorsThatABalancerHoldsAreMeasured(t *testing.T) {
	r := against(t, Idle, "hold")
	sessions := float64(r.Sessions)
	if got := value(t, r, "honest", Idle, "descriptors"); got != 2 {
		t.Errorf("honest: %v descriptors", got)
	}
	if got := value(t, r, "honest", Idle, "descriptors_left"); got != 0 {
		t.Errorf("honest: %v descriptors left", got)
	}
	if got := value(t, r, "hold", Idle, "descriptors"); got != 2+2*fakePipes {
		t.Errorf("%v descriptors", got)
	}
	if got := value(t, r, "hold", Idle, "descriptors_left"); got != 2*fakePipes*sessions {
		t.Errorf("%v descriptors left of %v sessions", got, sessions)
	}
	first, again := value(t, r, "hold", Idle, "bytes"), value(t, r, "hold", Idle, "bytes_again")
	honest := value(t, r, "honest", Idle, "bytes")
	if more := first - honest; more < 0.5*fakeMemory || more > 1.5*fakeMemory { // the rest is noise of two heaps
		t.Errorf("%.0f bytes a session, honest's %.0f", first, honest)
	}
	if again < first+fakeMemory/2 {
		t.Errorf("opened again they have %.0f bytes, at first %.0f", again, first)
	}
}

func TestWhatABalancerDoesToConnectionsIsFlagged(t *testing.T) {
	r := against(t, Connection, "reset")
	failures := r.Failures("reset", Connection)
	if failures["reset"] == 0 || len(failures) != 1 {
		t.Errorf("failures %v", failures)
	}
	if f := r.Failures("honest", Connection); len(f) != 0 {
		t.Errorf("honest's failures %v", f)
	}
	if got := strings.Join(r.Warnings(), "\n"); !strings.Contains(got, "reset failed in connection: ") || strings.Contains(got, "honest") {
		t.Errorf("warnings %q", got)
	}
	for _, row := range r.Table().Rows {
		if row.Figures[0].Bad || !row.Figures[1].Bad {
			t.Errorf("%s: %+v", row.Label, row.Figures)
		}
	}
}

func TestBytesThatABalancerChangesAreFlagged(t *testing.T) {
	r := against(t, Bulk1, "flip")
	failures := r.Failures("flip", Bulk1)
	if failures["wrong bytes"] == 0 {
		t.Errorf("failures %v", failures)
	}
	if f := r.Failures("honest", Bulk1); len(f) != 0 {
		t.Errorf("honest's failures %v", f)
	}
}

func TestRatesAreWhatWasDoneInTheTime(t *testing.T) {
	r := against(t, Request)
	for _, s := range r.Samples {
		if got, want := s.Values["rate"], float64(s.Units)/s.Seconds; math.Abs(got-want) > 1e-6 || s.Units <= 0 || s.Seconds <= 0 {
			t.Errorf("%+v", s)
		}
	}
	if r.Base != "honest" || r.Balancers[0].Kind != balancer.Sluice {
		t.Errorf("base %s of %+v", r.Base, r.Balancers)
	}
}
