package relay

import (
	"testing"
	"time"
)

// limited tells the kernel and the relay of a user timeout, as the relay's user does.
func limited(t *testing.T, e Engine, timeout time.Duration, readBuffer int) *link {
	t.Helper()
	set := func(c Conn) {
		if err := SetUserTimeout(c, timeout); err != nil {
			t.Error(err)
		}
	}
	return start(t, e, setup{limits: Limits{User: timeout}, readBuffer: readBuffer, atStart: func(client, backend Conn) {
		set(client)
		set(backend)
	}})
}

// The kernel counts a closed window against TCP_USER_TIMEOUT; the relay does not.
func TestAReaderThatPausesOutlastsTheUserTimeout(t *testing.T) {
	const timeout = 600 * time.Millisecond
	const pause = 4 * timeout
	feeds := map[string]func(t *testing.T, c Conn, f flow) (n int64){
		"large pieces": func(t *testing.T, c Conn, f flow) int64 {
			n := clog(t, c, f)
			paced(pause, 1, func() {})
			return n
		},
		"small pieces": func(t *testing.T, c Conn, f flow) int64 {
			const n = 20 << 10
			if err := f.send(c, 0, n, 1<<10); err != nil {
				t.Error(err)
			}
			paced(pause, 1, func() {})
			return n
		},
		"trickle": func(t *testing.T, c Conn, f flow) (n int64) {
			const piece = 100
			paced(pause/400, 400, func() {
				if err := f.send(c, n, piece, piece); err != nil {
					t.Error(err)
				}
				n += piece
			})
			return n
		},
	}
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		for name, feed := range feeds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				readBuffer := 4 << 10
				if name == "large pieces" {
					readBuffer = 32 << 10 // or they take too long
				}
				l := limited(t, e, timeout, readBuffer)
				s := l.side(who)
				sent := feed(t, s.near, flowOf(s.dir))
				s.near.CloseWrite()
				expectSeen(t, "reader", flowOf(s.dir).drain(s.far, 32<<10), seen{sent, "eof"})
				s.far.Close()
				l.expectEnd(t, End{who, EOF})
			})
		}
	})
}

func TestTheUserTimeoutIsLiftedForAPeerThatAnswersAndNoOther(t *testing.T) {
	const user = 8 * time.Second
	var (
		open     = window{queued: true, silent: user / 2}
		flowing  = window{queued: true}
		closed   = window{queued: true, closed: true, silent: user / 2}
		probed   = window{queued: true, closed: true, silent: user, unanswered: unansweredOK}
		vanished = window{queued: true, closed: true, silent: user, unanswered: unansweredOK + 1}
		slow     = window{queued: true, closed: true, silent: user - 1, unanswered: unansweredOK + 10}
	)
	for _, c := range []struct {
		name            string
		w               window
		stalled, lifted bool
		want            remedy
	}{
		{"nothing queued", window{}, false, false, leave},
		{"in flight, the kernel's to judge", open, true, false, leave},
		{"silent for just a share", window{queued: true, silent: user / patrolShare}, true, false, leave},
		{"takes nothing but answers", flowing, true, false, lift},
		{"closed", closed, true, false, lift},
		{"closed, but takes bytes now and then", closed, false, false, leave},
		{"vanished, the kernel's to judge", vanished, false, false, leave},
		{"still closed", closed, true, true, leave},
		{"takes bytes again", closed, false, true, restore},
		{"has taken all", window{}, false, true, restore},
		{"probed, answers are due", probed, true, true, leave},
		{"probed often, but not for long", slow, true, true, leave},
		{"vanished behind a closed window", vanished, true, true, giveUp},
		{"vanished with bytes in flight", window{queued: true, silent: 2 * user, unanswered: 9}, true, true, giveUp},
		{"back at the last moment", vanished, false, true, restore},
	} {
		if got := c.w.remedy(user, c.stalled, c.lifted); got != c.want {
			t.Errorf("%s: remedy %d, want %d", c.name, got, c.want)
		}
		for _, off := range []time.Duration{0, -1} {
			if got := c.w.remedy(off, c.stalled, c.lifted); got != leave {
				t.Errorf("%s: remedy %d without a user timeout", c.name, got)
			}
		}
	}
}

func TestTheLegsAreInspectedSeveralTimesInAUserTimeout(t *testing.T) {
	for user, want := range map[time.Duration]time.Duration{
		-1: patrolMost, 0: patrolMost, time.Millisecond: patrolLeast, time.Second: time.Second / 4, time.Hour: patrolMost,
	} {
		r := newRun(&Portable{}, &Session{Ends: &Ends{}, Limits: &Limits{User: user}})
		if got := r.s.limits().patrol(); got != want {
			t.Errorf("user timeout %v: every %v, want %v", user, got, want)
		}
	}
}
