package relay

import (
	"testing"
	"time"
)

// These limits are real time: the tests assert who ended a session and that it was
// not too early, never how soon.

func TestASilentSessionEndsWhenIdle(t *testing.T) {
	const limit = 100 * time.Millisecond
	forEachEngine(t, func(t *testing.T, e Engine) {
		began := time.Now()
		l := start(t, e, setup{limits: Limits{Idle: limit}})
		expectSeen(t, "client", down.drain(l.client, 10), seen{0, "reset"})
		expectSeen(t, "backend", up.drain(l.backend, 10), seen{0, "reset"})
		l.expectEnd(t, End{Sluice, Idle})
		if lasted := time.Since(began); lasted < limit {
			t.Errorf("ended after %v of silence, the limit is %v", lasted, limit)
		}
	})
}

func TestBytesInEitherDirectionKeepASessionFromIdling(t *testing.T) {
	const limit, pieces = 600 * time.Millisecond, 15
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		for name, piece := range map[string]int64{"small": 10, "bulk": 5000} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				untilFair(t, func() bool {
					l := start(t, e, setup{limits: Limits{Idle: limit}})
					s := l.side(who)
					var off int64
					if !keepPace(t, limit, limit/10, pieces, func() error {
						off += piece
						if err := flowOf(s.dir).send(s.near, off-piece, piece, 5000); err != nil {
							return err
						}
						return flowOf(s.dir).expect(s.far, off-piece, piece)
					}) {
						return false
					}
					last := time.Now()
					l.expectEnd(t, End{Sluice, Idle})
					if quiet := time.Since(last); quiet < limit*9/10 {
						t.Errorf("ended %v after the last byte, the limit is %v", quiet, limit)
					}
					return true
				})
			})
		}
	})
}

func TestAHalfClosedSessionEndsWhenInactiveAndNoSooner(t *testing.T) {
	const limit, pieces = 600 * time.Millisecond, 15
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		for name, piece := range map[string]int64{"small": 10, "bulk": 5000} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				untilFair(t, func() bool {
					l := start(t, e, setup{limits: Limits{HalfClose: limit}})
					s := l.side(who)
					s.near.CloseWrite()
					expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 10), seen{0, "eof"})
					var off int64
					if !keepPace(t, limit, limit/10, pieces, func() error {
						off += piece
						if err := flowOf(1-s.dir).send(s.far, off-piece, piece, 5000); err != nil {
							return err
						}
						return flowOf(1-s.dir).expect(s.near, off-piece, piece)
					}) {
						return false
					}
					last := time.Now()
					l.expectEnd(t, End{Sluice, HalfClose})
					if quiet := time.Since(last); quiet < limit*9/10 {
						t.Errorf("ended %v after the last byte, the limit is %v", quiet, limit)
					}
					return true
				})
			})
		}
	})
}

func TestTheHalfCloseLimitWaitsForAHalfClose(t *testing.T) {
	const limit = 20 * time.Millisecond
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{limits: Limits{HalfClose: limit}})
		paced(limit, 5, func() {})
		if err := up.send(l.client, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := up.expect(l.backend, 0, 1); err != nil {
			t.Fatalf("a session without a half-close was ended: %v", err)
		}
		l.backend.CloseWrite()
		l.expectEnd(t, End{Sluice, HalfClose})
	})
}

func TestTheShorterLimitHoldsAfterAHalfClose(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{limits: Limits{Idle: 100 * time.Millisecond, HalfClose: time.Hour}})
		l.client.CloseWrite()
		l.expectEnd(t, End{Sluice, Idle})
		l = start(t, e, setup{limits: Limits{Idle: time.Hour, HalfClose: 100 * time.Millisecond}})
		l.client.CloseWrite()
		l.expectEnd(t, End{Sluice, HalfClose})
	})
}

// One write to a slow reader may last for several limits.
func TestASlowReaderIsNotIdle(t *testing.T) {
	const limit = time.Second
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		for name, pause := range map[string]time.Duration{"steady": limit / 30, "with pauses": limit * 3 / 5} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				untilFair(t, func() bool { return readSlowly(t, e, who, limit, pause) })
			})
		}
	})
}

// readSlowly has a reader take a piece after each pause, and false if the machine held
// it up for so long that the session was cut by right.
func readSlowly(t *testing.T, e Engine, who Who, limit, pause time.Duration) (fair bool) {
	const piece = 150_000 // more than the reader's kernel holds, so that every piece moves bytes
	l := start(t, e, setup{limits: Limits{Idle: limit}, readBuffer: 64 << 10})
	s := l.side(who)
	pieces := int64(2 * limit / pause)
	wrote := async(func() error {
		defer s.near.CloseWrite()
		return flowOf(s.dir).send(s.near, 0, pieces*piece, 64<<10)
	})
	var off int64
	var failed error
	var late time.Duration
	last := time.Now()
	paced(pause, int(pieces), func() {
		if failed != nil {
			return
		}
		failed = flowOf(s.dir).expect(s.far, off, piece)
		late = max(late, time.Since(last))
		off, last = off+piece, time.Now()
	})
	err := result(t, "the sender", wrote)
	s.far.Close()
	if failed != nil || err != nil {
		if late < limit {
			t.Fatalf("after %d bytes: %v; the sender: %v", off, failed, err)
		}
		return false
	}
	l.expectEnd(t, End{who, EOF})
	return true
}

func TestAStuckReaderIsIdle(t *testing.T) {
	const limit = 300 * time.Millisecond
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		l := start(t, e, setup{limits: Limits{Idle: limit}, readBuffer: 4 << 10})
		s := l.side(who)
		wrote := async(func() error { return flowOf(s.dir).send(s.near, 0, 1<<40, 64<<10) })
		if k := kind(result(t, "the sender's error", wrote)); k != "reset" {
			t.Errorf("the sender saw %q, want a reset", k)
		}
		l.expectEnd(t, End{Sluice, Idle})
	})
}

func TestAResetThatWaitsForAStuckReaderGivesUp(t *testing.T) {
	const size, limit = 256 << 10, 200 * time.Millisecond
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		l := start(t, e, setup{limits: Limits{HalfClose: limit}, readBuffer: 4 << 10})
		s := l.side(who)
		if err := flowOf(s.dir).send(s.near, 0, size, size); err != nil {
			t.Fatal(err)
		}
		settle(t, s.near)
		resetClose(s.near)
		l.expectEnd(t, End{who, Reset})
	})
}
