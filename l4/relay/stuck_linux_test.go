package relay

import (
	"testing"
	"time"
)

// The pump that would read the reset is stuck in a write to the other end, which
// neither reads nor sends.

func TestAResetThatNobodyReadsEndsTheSessionByTheHalfCloseLimit(t *testing.T) {
	const limit = 500 * time.Millisecond
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		l := start(t, e, setup{limits: Limits{HalfClose: limit, User: limit}, readBuffer: 32 << 10})
		s := l.side(who)
		clog(t, s.near, flowOf(s.dir))
		paced(2*limit, 1, func() {}) // a limit that counts from the last byte is over
		began := time.Now()
		resetClose(s.near)
		l.expectEnd(t, End{Sluice, HalfClose})
		if took := time.Since(began); took < limit || took > 10*limit {
			t.Errorf("ended %v after the reset, the limit is %v", took, limit)
		}
		if end := flowOf(s.dir).drain(s.far, 32<<10).end; end != "reset" {
			t.Errorf("the %v saw %q, want a reset", s.other, end)
		}
	})
}

func TestAResetThatNobodyReadsIsFoundByThePatrol(t *testing.T) {
	const timeout = 500 * time.Millisecond
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		l := start(t, e, setup{limits: Limits{User: timeout}, readBuffer: 32 << 10})
		s := l.side(who)
		sent := clog(t, s.near, flowOf(s.dir))
		lost, _ := unacknowledged(s.near)
		resetClose(s.near)
		if l.run != nil { // the portable engine's; others have the system tell them
			leg := &l.run.legs[1-s.dir]
			eventually(t, "the patrol", func() bool { return leg.fault() != sound })
			if c := leg.fault(); c != reset {
				t.Errorf("condition %d, want a reset", c)
			}
		}
		if len(l.ends) > 0 {
			t.Error("ended without a limit while bytes wait for their reader")
		}
		got := flowOf(s.dir).drain(s.far, 32<<10)
		if least := sent - int64(lost); got.n < least || got.end != "reset" {
			t.Errorf("the %v saw %d bytes and %q, want at least %d and a reset", s.other, got.n, got.end, least)
		}
		l.expectEnd(t, End{who, Reset})
	})
}
