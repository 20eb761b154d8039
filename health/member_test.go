package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestFirstProbeIsMadeAtOnceAndDecides(t *testing.T) {
	tests := []struct {
		name   string
		result error
		want   string
	}{
		{"pass", nil, "0s up: first probe passed"},
		{"failure", errRefused, "0s down: connect: connection refused (first probe)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				newMonitor(t, config()).Add(proberFunc(func(context.Context) error { return tt.result }), g)
				synctest.Wait()
				g.expect(t, tt.want)
			})
		})
	}
}

func TestProbesKeepTheirIntervalWithPhaseAndJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		m := newMonitor(t, cfg)
		probers := make([]*script, 20)
		for i := range probers {
			// They take time, which must not add to the interval.
			probers[i] = &script{result: func(int) error { <-time.After(300 * time.Millisecond); return nil }}
			m.Add(probers[i], newGate())
		}
		begin := time.Now()
		pass(20 * cfg.Interval)
		seconds := map[time.Duration]bool{}
		for _, p := range probers {
			starts := p.began()
			if len(starts) < 18 {
				t.Fatalf("%d probes in 20 intervals", len(starts))
			}
			if !starts[0].Equal(begin) {
				t.Errorf("first probe after %v, want at once", starts[0].Sub(begin))
			}
			phase := starts[1].Sub(begin)
			seconds[phase] = true
			if phase < 300*time.Millisecond || phase > cfg.Interval {
				t.Errorf("second probe after %v, want a phase within one interval of %v", phase, cfg.Interval)
			}
			var gaps []time.Duration
			for i := 2; i < len(starts); i++ {
				gap := starts[i].Sub(starts[i-1])
				gaps = append(gaps, gap)
				if gap < 1800*time.Millisecond || gap > 2200*time.Millisecond {
					t.Errorf("gap of %v, want 2s with at most 10%% jitter", gap)
				}
			}
			if slices.Min(gaps) == slices.Max(gaps) {
				t.Error("every gap is the same, want jitter")
			}
		}
		if len(seconds) < 10 {
			t.Errorf("%d different phases of 20 members: they are probed in step", len(seconds))
		}
	})
}

func TestProbeEndsAtItsTimeoutAndCountsAsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		mute := proberFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		newMonitor(t, config()).Add(mute, g)
		pass(time.Second)
		g.expect(t, "1s down: no answer within 1s (first probe)")
		if c := g.causes[0]; c.Took != time.Second || c.Source != SourceProbe || c.Streak != 1 {
			t.Errorf("cause is %+v", c)
		}
	})
}

func TestNeverTwoProbesInFlightEvenIfTheContextIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying, most, total atomic.Int32
		var ends []time.Time
		deaf := proberFunc(func(context.Context) error {
			if n := flying.Add(1); n > most.Load() {
				most.Store(n)
			}
			now := time.Now()
			if len(ends) > 0 && !now.Equal(ends[len(ends)-1]) {
				t.Errorf("late probe began %v after the former one's end, want at once", now.Sub(ends[len(ends)-1]))
			}
			<-time.After(7 * time.Second)
			total.Add(1)
			flying.Add(-1)
			ends = append(ends, time.Now())
			return nil
		})
		m := newMonitor(t, config())
		m.Add(deaf, newGate())
		pass(70 * time.Second)
		m.Close()
		if most.Load() != 1 || total.Load() < 10 {
			t.Errorf("%d probes, at most %d at a time; want 10 or more, one at a time", total.Load(), most.Load())
		}
	})
}

func TestOneSlowBackendDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, config())
		m.Add(proberFunc(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), newGate())
		g := newGate()
		m.Add(&script{result: func(int) error { return nil }}, g)
		synctest.Wait()
		g.expect(t, "0s up: first probe passed")
	})
}

func TestEveryThirdProbeFailingNeverTakesDownWithFallTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Fall = 2
		g := newGate()
		p := &script{result: func(n int) error {
			if n%3 == 0 {
				return errRefused
			}
			return nil
		}}
		newMonitor(t, cfg).Add(p, g)
		pass(100 * cfg.Interval)
		if n := len(p.began()); n < 80 {
			t.Fatalf("only %d probes", n)
		}
		g.expect(t, "0s up: first probe passed")
	})
}

func TestBackendFallsAndRisesOnceWithTheEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		g := newGate()
		p := &script{result: func(n int) error {
			if n >= 5 && n < 10 {
				return errors.New("http: status 503, want 200-399")
			}
			return nil
		}}
		newMonitor(t, cfg).Add(p, g)
		pass(20 * cfg.Interval)
		starts := p.began()
		at := func(n int) string { return starts[n-1].Sub(g.born).String() }
		g.expect(t,
			"0s up: first probe passed",
			at(7)+" down: http: status 503, want 200-399 (3 of 3 failed)",
			at(11)+" up: 2 probes in a row passed",
		)
		if c := g.causes[1]; c.Streak != 3 || c.Source != SourceProbe {
			t.Errorf("cause of the fall is %+v", c)
		}
	})
}

func TestReasonOfAFailureIsTheLastOneAndOneShortLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		g := newGate()
		newMonitor(t, cfg).Add(&script{result: func(n int) error {
			switch n {
			case 1:
				return nil
			case 2, 3:
				return errRefused
			default:
				return errors.New("redis: -LOADING\r\nplease " + strings.Repeat("wait ", 1000))
			}
		}}, g)
		pass(6 * cfg.Interval)
		got := g.told()
		if len(got) != 2 || !strings.Contains(got[1], "down: redis: -LOADING please wait wait") {
			t.Fatalf("told %q", got)
		}
		if r := g.causes[1].Reason; len(r) > maxReason+50 || strings.ContainsAny(r, "\r\n") {
			t.Errorf("reason of %d bytes: %q", len(r), r)
		}
	})
}

func TestProbeThatCouldNotBeMadeIsNoResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		g := newGate()
		p := &script{result: func(n int) error {
			if n == 1 || n >= 3 {
				return fmt.Errorf("connect: %w", ErrNoVerdict)
			}
			return nil
		}}
		m := newMonitor(t, cfg)
		m.Add(p, g)
		<-m.Settled() // it has ended all the same
		g.expect(t)
		pass(20 * cfg.Interval)
		g.expect(t, p.began()[1].Sub(g.born).String()+" up: first probe passed")
	})
}

func TestBackendWithoutAProberStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		pass(time.Hour)
		g.expect(t)
		b.DialFailed(time.Now(), "connection refused")
		g.expect(t, "1h0m0s eject: connection refused (1 failed in a row), ejected for 5s")
	})
}

func TestStopCancelsTheProbeInFlightAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		g := newGate()
		b := newMonitor(t, config()).Add(proberFunc(func(ctx context.Context) error {
			<-ctx.Done()
			if ctx.Err() != context.Canceled {
				t.Errorf("context ended with %v, want it cancelled", ctx.Err())
			}
			<-time.After(2 * time.Second) // slow to notice
			ended = time.Since(g.born)
			return ctx.Err()
		}), g)
		pass(100 * time.Millisecond)
		b.Stop()
		if took := time.Since(g.born); took != 2100*time.Millisecond || ended != took {
			t.Errorf("Stop returned after %v, the probe ended after %v; want 2.1s both", took, ended)
		}
		b.Stop() // again
		pass(time.Hour)
		g.expect(t) // a cancelled probe is no verdict
	})
}

func TestStoppedBackendIsNeverProbedOrJudgedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		p := &script{result: func(int) error { return nil }}
		b := newMonitor(t, config()).Add(p, g)
		synctest.Wait()
		b.DialFailed(time.Now(), "connection refused")
		b.Stop()
		probes := len(p.began())
		for range 10 {
			b.DialOK(time.Now())
			b.DialFailed(time.Now(), "connection refused")
			b.EndedAtOnce()
			b.Answered()
		}
		pass(time.Hour) // the ejection's time is over, and probes would be due
		g.expect(t,
			"0s up: first probe passed",
			"0s eject: connection refused (1 failed in a row), ejected for 5s",
		)
		if n := len(p.began()); n != probes {
			t.Errorf("%d probes after Stop", n-probes)
		}
	})
}
