package l4

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAThrottleReportsEveryEventOnceAndAtMostOnceAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th throttle
		began := time.Now()
		type report struct {
			at time.Duration
			n  int64
		}
		var got []report
		say := func(n int64) { got = append(got, report{time.Since(began), n}) }
		event := func() {
			if th.pass(say) {
				say(1)
			}
		}
		for range 3 {
			event()
		}
		time.Sleep(throttlePeriod + 1) // the two held back are reported, and another period runs
		synctest.Wait()
		event()
		time.Sleep(3 * throttlePeriod) // the one is, and then a period without any
		synctest.Wait()
		event()
		event()
		th.stop(say)
		event() // nothing is held back any more
		want := []report{{0, 1}, {throttlePeriod, 2}, {2 * throttlePeriod, 1}, {4*throttlePeriod + 1, 1}, {4*throttlePeriod + 1, 1}, {4*throttlePeriod + 1, 1}}
		if !slices.Equal(got, want) {
			t.Errorf("reports %v, want %v", got, want)
		}
	})
}

func TestOfManyAtOnceAThrottleLetsOneThrough(t *testing.T) {
	var th throttle
	var passed, reported atomic.Int64
	parallel(100, func(int) {
		if th.pass(func(n int64) { reported.Add(n) }) {
			passed.Add(1)
		}
	})
	th.stop(func(n int64) { reported.Add(n) })
	if passed.Load()+reported.Load() != 100 || passed.Load() < 1 {
		t.Errorf("%d passed and %d were reported of 100", passed.Load(), reported.Load())
	}
}
