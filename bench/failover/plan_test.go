package failover

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/fault"
)

// Whatever the fault: what is broken is whole before, what is mended was broken, all are whole in
// the end, and there is time before and after.
func TestPlansBreakWhatIsWholeAndMendAllOfIt(t *testing.T) {
	for _, f := range fault.Faults() {
		for _, backends := range []int{2, 3, 16} {
			for _, length := range []time.Duration{leastDuration, 10 * time.Second, mostDuration} {
				checkPlan(t, f, backends, length)
			}
		}
	}
}

func checkPlan(t *testing.T, f fault.Fault, backends int, length time.Duration) {
	t.Helper()
	actions := plan(f, backends, length)
	broken := make(map[int]fault.Fault)
	last := length / 5
	for _, a := range actions {
		if a.at < last || a.backend < 0 || a.backend >= backends || a.fault.Step() != a.fault {
			t.Fatalf("%s of %d in %v: %+v after %v", f, backends, length, a, last)
		}
		last = a.at
		switch was, is := broken[a.backend]; {
		case a.mend && was == a.fault:
			delete(broken, a.backend)
		case !a.mend && !is:
			broken[a.backend] = a.fault
		default:
			t.Fatalf("%s of %d in %v: %+v, it is %q", f, backends, length, a, was)
		}
	}
	if len(actions) < 2 || len(broken) > 0 || last > length*4/5 {
		t.Errorf("%s of %d in %v: %d actions until %v, broken in the end: %v", f, backends, length, len(actions), last, broken)
	}
}

func TestAllAreDownAtOnceAndOneAfterTheOtherInARollingRestart(t *testing.T) {
	down, most := 0, map[fault.Fault]int{}
	for _, f := range []fault.Fault{fault.Kill, fault.Flap, fault.AllDown, fault.Rolling} {
		down = 0
		for _, a := range plan(f, 3, 10*time.Second) {
			if a.mend {
				down--
			} else {
				down++
			}
			most[f] = max(most[f], down)
		}
	}
	if most[fault.Kill] != 1 || most[fault.Flap] != 1 || most[fault.AllDown] != 3 || most[fault.Rolling] != 1 {
		t.Errorf("%v", most)
	}
}
