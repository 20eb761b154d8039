package relay

import (
	"sync"
	"testing"
)

// echo sends back what is read from it, until that fails.
type echo struct {
	Conn
	failure error // of a write
}

func (e *echo) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	if n > 0 && e.failure == nil {
		_, e.failure = e.Conn.Write(b[:n])
	}
	return n, err
}

// Nobody reads the echo any more, so it does not read what it is sent: each end waits
// for the other, until one resets.
func TestAResetWhileBothDirectionsAreFullEndsTheSession(t *testing.T) {
	const sessions = 20
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		var wg sync.WaitGroup
		for range sessions {
			l := start(t, e, setup{readBuffer: 32 << 10, atStart: func(client, backend Conn) {
				for _, c := range []Conn{client, backend} { // to be full soon
					c.(interface{ SetReadBuffer(int) error }).SetReadBuffer(64 << 10)
				}
			}})
			wg.Go(func() { resetWhenFull(t, l, who) })
		}
		wg.Wait()
	})
}

func resetWhenFull(t *testing.T, l *link, who Who) {
	s := l.side(who)
	far := &echo{Conn: s.far}
	got := async(func() seen { return flowOf(s.dir).drain(far, 32<<10) })
	sent := clog(t, s.near, flowOf(s.dir))
	paced(longestTick*5/4, 1, func() {}) // a deadline of the bulk transfer has passed
	lost, known := unacknowledged(s.near)
	resetClose(s.near)
	echoed := result(t, "the echo", got)
	if far.failure != nil { // the reset was the write's; what came before it was read after
		echoed.end = kind(far.failure)
	}
	if least := sent - int64(lost); known && echoed.n < least || echoed.end != "reset" {
		t.Errorf("the %v saw %d bytes and %q, want at least %d of %d and a reset", s.other, echoed.n, echoed.end, least, sent)
	}
	l.expectEnd(t, End{who, Reset})
}
