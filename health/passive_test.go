package health

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const refused = "connection refused"

func TestFirstFailedDialEjectsForTheConfiguredTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		pass(time.Second)
		b.DialFailed(time.Now(), refused)
		pass(5*time.Second - 1)
		if !g.isEjected() {
			t.Error("restored before the time was over")
		}
		pass(1)
		g.expect(t,
			"1s eject: connection refused (1 failed in a row), ejected for 5s",
			"6s restore: ejection of 5s is over, on trial",
		)
		for i, c := range g.causes {
			if c.Source != SourceDial || c.Streak != 1-i || c.Took != 0 {
				t.Errorf("cause %d is %+v", i, c)
			}
		}
	})
}

func TestOnlyFailedDialsInARowEject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Failures = 3
		g := newGate()
		b := newMonitor(t, cfg).Add(nil, g)
		for range 10 {
			b.DialFailed(time.Now(), refused)
			b.DialFailed(time.Now(), refused)
			b.DialOK(time.Now())
		}
		g.expect(t)
		b.DialFailed(time.Now(), refused)
		b.DialFailed(time.Now(), refused)
		b.DialFailed(time.Now(), "no answer within 3s")
		g.expect(t, "0s eject: no answer within 3s (3 failed in a row), ejected for 5s")
	})
}

func TestEjectionDoublesWhileEveryTrialFailsUpToAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Failures = 3
		g := newGate()
		b := newMonitor(t, cfg).Add(nil, g)
		b.DialFailed(time.Now(), refused)
		b.DialFailed(time.Now(), refused)
		var want []string
		at := time.Duration(0)
		for i, seconds := range []time.Duration{5, 10, 20, 40, 60, 60} {
			length := seconds * time.Second
			b.DialFailed(time.Now(), refused) // on trial one is enough
			want = append(want,
				fmt.Sprintf("%v eject: connection refused (%d failed in a row), ejected for %v", at, i+3, length),
				fmt.Sprintf("%v restore: ejection of %v is over, on trial", at+length, length))
			pass(length)
			at += length
		}
		g.expect(t, want...)
	})
}

func TestDialThatSucceedsOnTrialEndsTheDoubling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Failures = 2
		g := newGate()
		b := newMonitor(t, cfg).Add(nil, g)
		b.DialFailed(time.Now(), refused)
		b.DialFailed(time.Now(), refused)
		pass(5 * time.Second)
		b.DialFailed(time.Now(), refused)
		pass(10 * time.Second)
		b.DialOK(time.Now())
		b.DialFailed(time.Now(), refused) // off trial, one is not enough any more
		if g.isEjected() {
			t.Error("ejected by one failure after the trial had ended well")
		}
		b.DialFailed(time.Now(), refused)
		if got := g.told(); !strings.HasSuffix(got[len(got)-1], "ejected for 5s") {
			t.Errorf("told %q, want the first time of 5s again", got)
		}
	})
}

func TestLateResultsOfDialsDuringAnEjectionChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		b.DialFailed(time.Now(), refused)
		pass(4 * time.Second)
		for range 20 {
			b.DialFailed(time.Now(), refused)
		}
		b.DialOK(time.Now().Add(-time.Hour)) // begun before the ejection, too
		if g.asked != 21 {
			t.Errorf("the gate was asked %d times, want for every failure", g.asked)
		}
		pass(time.Second)
		b.DialFailed(time.Now(), refused) // the late success was no trial
		g.expect(t,
			"0s eject: connection refused (1 failed in a row), ejected for 5s",
			"5s restore: ejection of 5s is over, on trial",
			"5s eject: connection refused (1 failed in a row), ejected for 10s",
		)
	})
}

func TestLastUsableBackendIsTriedAgainByTheNextFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Failures = 2
		g := newGate()
		g.refuse(true)
		b := newMonitor(t, cfg).Add(nil, g)
		for range 4 {
			b.DialFailed(time.Now(), refused)
		}
		if g.asked != 3 {
			t.Errorf("asked %d times for 4 failures and a threshold of 2, want 3", g.asked)
		}
		pass(time.Hour)
		g.expect(t) // no time runs for an ejection that was refused
		g.refuse(false)
		b.DialFailed(time.Now(), refused)
		pass(5 * time.Second)
		g.expect(t,
			"1h0m0s eject: connection refused (5 failed in a row), ejected for 5s",
			"1h0m5s restore: ejection of 5s is over, on trial",
		)
	})
}

func TestEjectionLiftedByThePoolIsMadeAgainByTheNextFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		b.DialFailed(time.Now(), refused)
		pass(time.Second)
		g.refuse(true) // the others went down
		b.DialFailed(time.Now(), refused)
		pass(time.Second)
		g.refuse(false) // they are back
		b.DialFailed(time.Now(), refused)
		pass(3 * time.Second)
		b.DialFailed(time.Now(), refused)
		g.expect(t,
			"0s eject: connection refused (1 failed in a row), ejected for 5s",
			"2s eject: connection refused (3 failed in a row), ejected for 5s",
			"5s restore: ejection of 5s is over, on trial",
			"5s eject: connection refused (4 failed in a row), ejected for 10s",
		)
	})
}

func TestBackendStaysEjectedWhileItsProbesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Fall = 1000 // up all the time, so this is about the ejection alone
		cfg.Eject = 7 * time.Second
		g := newGate()
		var works atomic.Bool
		p := &script{result: func(n int) error {
			if n > 1 && !works.Load() {
				return errRefused
			}
			return nil
		}}
		b := newMonitor(t, cfg).Add(p, g)
		pass(cfg.Interval)
		b.DialFailed(time.Now(), refused)
		pass(7*time.Second + 14*time.Second + 28*time.Second + 56*time.Second + 59*time.Second)
		g.expect(t,
			"0s up: first probe passed",
			"2s eject: connection refused (1 failed in a row), ejected for 7s",
		)
		// One pass is the newest result now, short of the two that end it at once.
		works.Store(true)
		pass(time.Second)
		if len(g.told()) == 2 {
			pass(time.Minute)
		}
		if got := g.told(); len(got) != 3 || !strings.Contains(got[2], "restore: ") {
			t.Errorf("told %q, want one restore", got)
		}
	})
}

func TestTimeOfAnEjectionProlongedByProbesIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Interval = time.Hour // only the first probe matters
		cfg.Rise, cfg.Fall = 2, 3
		g := newGate()
		p := &script{result: func(n int) error {
			if n == 1 {
				<-time.After(500 * time.Millisecond)
				return errRefused
			}
			return nil
		}}
		b := newMonitor(t, cfg).Add(p, g)
		b.DialFailed(time.Now(), refused)
		// The probe at one hour at the latest passes; by then it is 5, 15, 35, 75, 135 s
		// and so on, always a minute more.
		pass(time.Hour)
		second := p.began()[1].Sub(g.born)
		end := 75 * time.Second
		for l := []time.Duration{5, 15, 35, 75}; len(l) > 0; l = l[1:] {
			if d := l[0] * time.Second; d >= second {
				end = d
				break
			}
		}
		for end < second {
			end += time.Minute
		}
		pass(time.Minute)
		want := fmt.Sprintf("%v restore: ejection of %v is over, on trial", end, end)
		if got := g.told(); len(got) < 3 || got[2] != want {
			t.Errorf("second probe at %v; told %q, want %q", second, got, want)
		}
	})
}

func TestPassedProbesEndAnEjectionAtOnceAndTheDoubling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Eject = time.Minute
		g := newGate()
		p := &script{result: func(int) error { return nil }}
		b := newMonitor(t, cfg).Add(p, g)
		pass(20 * time.Second)
		ejected := time.Since(g.born)
		before := len(p.began())
		b.DialFailed(time.Now(), refused)
		pass(5 * time.Second)
		restored := p.began()[before+1].Sub(g.born)
		b.DialFailed(time.Now(), refused)
		got := g.told()
		want := []string{
			"0s up: first probe passed",
			fmt.Sprintf("%v eject: connection refused (1 failed in a row), ejected for 1m0s", ejected),
			fmt.Sprintf("%v restore: 2 probes in a row passed", restored),
		}
		g.expect(t, append(want, "25s eject: connection refused (1 failed in a row), ejected for 1m0s")...)
		if c := g.causes[2]; len(got) < 3 || c.Source != SourceProbe {
			t.Errorf("cause of the restore is %+v", c)
		}
	})
}

func TestProbeThatBeganBeforeTheEjectionProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Rise, cfg.Interval = 1, 10*time.Second
		cfg.Eject = time.Minute
		g := newGate()
		b := newMonitor(t, cfg).Add(&script{result: func(int) error {
			<-time.After(time.Second)
			return nil
		}}, g)
		pass(500 * time.Millisecond)
		b.DialFailed(time.Now(), refused)
		pass(500 * time.Millisecond)
		if !g.isEjected() {
			t.Error("restored by a probe that began before the dial failed")
		}
		pass(15 * time.Second)
		if g.isEjected() {
			t.Error("not restored by a probe that began after it")
		}
	})
}

func TestPassedProbesEndATrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Failures, cfg.Eject = 2, time.Second // shorter than two probes take
		cfg.Interval = 10 * time.Second
		g := newGate()
		b := newMonitor(t, cfg).Add(&script{result: func(int) error { return nil }}, g)
		pass(30 * time.Second)
		b.DialFailed(time.Now(), refused)
		b.DialFailed(time.Now(), refused)
		pass(time.Second)
		if g.isEjected() {
			t.Fatal("not on trial")
		}
		pass(30 * time.Second)
		b.DialFailed(time.Now(), refused)
		if g.isEjected() {
			t.Error("one failed dial ejected a backend that its probes had proven well")
		}
	})
}

func TestRiseOfAnEjectedBackendIsToldOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Eject = time.Minute
		g := newGate()
		p := &script{result: func(n int) error {
			if n <= 5 {
				return errors.New("http: status 503, want 200-399")
			}
			return nil
		}}
		b := newMonitor(t, cfg).Add(p, g)
		pass(time.Second)
		b.DialFailed(time.Now(), refused)
		pass(40 * time.Second)
		up := p.began()[6].Sub(g.born)
		g.expect(t,
			"0s down: http: status 503, want 200-399 (first probe)",
			"1s eject: connection refused (1 failed in a row), ejected for 1m0s",
			fmt.Sprintf("%v restore: 2 probes in a row passed", up),
			fmt.Sprintf("%v up: 2 probes in a row passed", up),
		)
	})
}

func TestRiseEndsAnEjectionThatBeganAfterItsFirstPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Eject = time.Minute
		g := newGate()
		p := &script{result: func(n int) error {
			if n == 1 {
				return errRefused
			}
			return nil
		}}
		b := newMonitor(t, cfg).Add(p, g)
		for len(p.began()) < 2 {
			pass(10 * time.Millisecond)
		}
		b.DialFailed(time.Now(), refused) // after the first pass; the next one makes it rise
		pass(4 * time.Second)
		got := g.told()
		if len(got) != 4 || !strings.HasSuffix(got[2], "restore: 2 probes in a row passed") ||
			!strings.HasSuffix(got[3], "up: 2 probes in a row passed") || g.isEjected() {
			t.Errorf("told %q", got)
		}
	})
}

func TestFiveSessionsEndedAtOnceInARowEject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		for range 4 {
			b.DialOK(time.Now()) // does not reset the count, every such session begins with one
			b.EndedAtOnce()
		}
		b.Answered()
		for range 4 {
			b.DialOK(time.Now())
			b.EndedAtOnce()
		}
		g.expect(t)
		b.EndedAtOnce()
		b.EndedAtOnce() // late, of a session that began before
		pass(5 * time.Second)
		for range 4 {
			b.DialOK(time.Now())
			b.EndedAtOnce()
		}
		g.expect(t,
			"0s eject: ended 5 sessions in a row at once, without a byte, ejected for 5s",
			"5s restore: ejection of 5s is over, on trial",
		)
		b.EndedAtOnce()
		if !g.isEjected() {
			t.Error("not ejected again by five more")
		}
	})
}

func TestSessionsEndedAtOnceByTheLastUsableBackendKeepTheirCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.refuse(true)
		b := newMonitor(t, config()).Add(nil, g)
		for range 7 {
			b.EndedAtOnce()
		}
		g.expect(t)
		g.refuse(false)
		b.EndedAtOnce()
		g.expect(t, "0s eject: ended 8 sessions in a row at once, without a byte, ejected for 5s")
	})
}

func TestPassiveEjectionCanBeTurnedOff(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"failures 0": func(c *Config) { c.Failures = 0 },
		"eject 0":    func(c *Config) { c.Eject = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := config()
				change(&cfg)
				g := newGate()
				b := newMonitor(t, cfg).Add(nil, g)
				for range 100 {
					b.DialFailed(time.Now(), refused)
					b.EndedAtOnce()
				}
				b.DialOK(time.Now())
				b.Answered()
				g.expect(t)
				if g.asked != 0 {
					t.Errorf("the gate was asked %d times", g.asked)
				}
			})
		})
	}
}

func TestNothingToResetCostsNoLockAndNoAllocation(t *testing.T) {
	b := newMonitor(t, config()).Add(nil, newGate())
	b.mu.Lock() // whoever needs it now would hang
	defer b.mu.Unlock()
	if n := testing.AllocsPerRun(100, func() { b.DialOK(time.Now()); b.Answered() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestADialThatSucceedsDuringAnEjectionForFailedDialsEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		b.DialFailed(time.Now(), refused)
		pass(time.Second)
		b.DialOK(time.Now())
		pass(time.Minute)
		g.expect(t, "0s eject: connection refused (1 failed in a row), ejected for 5s", "1s restore: a dial succeeded")
	})
}

func TestADialThatSucceedsProvesNothingAgainstSessionsThatEndedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		for range earlyEnds {
			b.EndedAtOnce()
		}
		pass(time.Second)
		b.DialOK(time.Now()) // each of those sessions began with one
		if !g.isEjected() {
			t.Error("restored")
		}
	})
}

func TestADialFromBeforeTheProofIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		b := newMonitor(t, config()).Add(nil, g)
		slow := time.Now()
		pass(time.Second)
		b.DialFailed(time.Now(), refused)
		pass(time.Second)
		b.DialOK(time.Now())
		pass(time.Second)
		b.DialFailed(slow, "no answer within 3s")
		if g.isEjected() {
			t.Error("ejected by a dial that began before one that succeeded")
		}
	})
}
