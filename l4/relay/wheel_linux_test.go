package relay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEveryTimerFiresOnceWhenItIsDue(t *testing.T) {
	const slots = 50
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		w, due := newWheel(), map[int32]int64{}
		w.grow()
		for range 3000 {
			switch slot := int32(random.IntN(slots)); random.IntN(4) {
			case 0:
				w.clear(slot)
				delete(due, slot)
			case 1, 2:
				due[slot] = w.now + int64(1)<<random.IntN(28) + int64(random.IntN(100))
				w.set(slot, due[slot])
			default:
				expectFired(t, w, due, w.now+int64(1)<<random.IntN(25))
			}
		}
		expectFired(t, w, due, w.now+1<<30)
		if _, any := w.next(); any || len(due) > 0 {
			t.Fatalf("timers left: %v", due)
		}
	}
}

// expectFired advances w to now in the steps that it asks for.
func expectFired(t *testing.T, w *wheel, due map[int32]int64, now int64) {
	t.Helper()
	for {
		at, any := w.next()
		if !any || at > now {
			at = now
		}
		if at <= w.now && at < now {
			t.Fatalf("at %d it asks to be woken at %d", w.now, at)
		}
		for _, slot := range w.advance(at, nil) {
			if due[slot] != at {
				t.Fatalf("slot %d fired at %d, due at %d", slot, at, due[slot])
			}
			delete(due, slot)
		}
		if at == now {
			break
		}
	}
	for slot, d := range due {
		if d <= now {
			t.Fatalf("slot %d did not fire at %d", slot, d)
		}
	}
}

func TestAWheelThatWasLateFiresAllThatIsDue(t *testing.T) {
	w := newWheel()
	w.grow()
	for slot, due := range []int64{1, 70, 600, 1 << 20, 1 << 40} {
		w.set(int32(slot), due)
	}
	fired := w.advance(1<<21, nil)
	if slices.Sort(fired); !slices.Equal(fired, []int32{0, 1, 2, 3}) {
		t.Errorf("fired %v", fired)
	}
	w.set(0, 5) // in the past
	if fired := w.advance(w.now+1, nil); !slices.Equal(fired, []int32{0}) {
		t.Errorf("fired %v", fired)
	}
}

// A timer that is set over and over must not wake the loop for its earlier times.
func TestAWheelAsksForNoMoreThanAFewWakes(t *testing.T) {
	w := newWheel()
	w.grow()
	w.set(0, 3_600_000)
	wakes := 0
	for {
		at, any := w.next()
		if !any {
			break
		}
		w.advance(at, nil)
		wakes++
	}
	if w.now != 3_600_000 || wakes > wheelLevels {
		t.Errorf("fired at %d after %d wakes", w.now, wakes)
	}
}
