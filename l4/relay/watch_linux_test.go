package relay

import (
	"testing"
	"time"
)

// later lets a session be older by d, so that its timer is late.
func (r *run) later(d time.Duration) { r.began = r.began.Add(-d) }

func expectLook(t *testing.T, when string, r *run, want End) {
	t.Helper()
	if got := r.look(); got != want {
		t.Fatalf("%s: %v, want %v", when, got, want)
	}
}

const late = time.Minute // the limit of these tests; the timer does not fire by itself

var idle = End{Sluice, Idle}

// What the peers acknowledged of a first exchange is no news when the timer fires, be
// it late, and with or without a patrol before.
func TestAnExchangeAtTheStartPutsOffIdleOnce(t *testing.T) {
	for _, patrols := range []int{0, 1, 2} {
		r, client, backend := unstarted(t, Limits{Idle: late})
		for _, s := range []struct {
			dir       Direction
			near, far Conn
		}{{ToBackend, r.s.Backend, backend}, {ToClient, r.s.Client, client}} {
			n, _ := s.near.Write(flowOf(s.dir).at(0, 1000))
			r.count(s.dir, int64(n))
			if err := flowOf(s.dir).expect(s.far, 0, 1000); err != nil {
				t.Fatal(err)
			}
			settle(t, s.near)
		}
		for range patrols {
			expectLook(t, "at once", r, End{})
		}
		r.later(late - time.Second)
		expectLook(t, "just before the limit", r, End{})
		r.later(time.Second)
		expectLook(t, "at the limit", r, idle)
	}
}

func TestAReaderThatTookBytesSinceTheLastLookIsNotIdle(t *testing.T) {
	const piece = 150_000
	for _, dir := range []Direction{ToBackend, ToClient} {
		t.Run(dir.String(), func(t *testing.T) {
			r, client, backend := unstarted(t, Limits{Idle: late})
			near, far := r.s.Backend, backend
			if dir == ToClient {
				near, far = r.s.Client, client
			}
			far.(interface{ SetReadBuffer(int) error }).SetReadBuffer(64 << 10)
			sent := clog(t, near, flowOf(dir))
			r.touch()
			expectLook(t, "when full", r, End{})

			before := ackedBy(near)
			if err := flowOf(dir).expect(far, 0, piece); err != nil {
				t.Fatal(err)
			}
			eventually(t, "an acknowledgement", func() bool { return ackedBy(near) != before })
			r.later(2 * late)
			expectLook(t, "after a piece", r, End{})

			if err := flowOf(dir).expect(far, piece, sent-piece); err != nil {
				t.Fatal(err)
			}
			settle(t, near)
			r.later(2 * late)
			expectLook(t, "after the rest", r, End{})
			r.later(2 * late)
			expectLook(t, "after nothing", r, idle)
		})
	}
}

func TestAReaderThatTakesNothingIsIdle(t *testing.T) {
	for _, dir := range []Direction{ToBackend, ToClient} {
		r, _, _ := unstarted(t, Limits{Idle: late})
		near := r.s.Backend
		if dir == ToClient {
			near = r.s.Client
		}
		clog(t, near, flowOf(dir))
		r.touch()
		expectLook(t, "when full", r, End{})
		expectLook(t, "and again", r, End{})
		r.later(late)
		expectLook(t, "at the limit", r, idle)
	}
}
