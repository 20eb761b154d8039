package relay

import (
	"io"
	"time"
)

// What the system says of a connection. Where a system cannot be asked, the answer
// is the one that leaves the portable behaviour.
var (
	// dead tells whether a TCP connection is over in both directions: reset, timed
	// out, or ended by both peers.
	_ func(c Conn) bool = dead
	// orderly tells whether the end of stream that was read from a TCP connection is
	// one that its peer sent.
	_ func(c Conn) (sent, known bool) = orderly
	// pendingError takes the error that waits on the connection, if any.
	_ func(c Conn) error = pendingError
	// unacknowledged returns the bytes written that the peer has not acknowledged. On a
	// dead connection they are lost.
	_ func(c Conn) (n int, known bool) = unacknowledged
	// windowOf returns what is known of the peer's receive window.
	_ func(c Conn) (w window, known bool) = windowOf
	// setUserTimeout is SetUserTimeout.
	_ func(c Conn, d time.Duration) error = setUserTimeout
	// splicer returns what splices from src to dst inside the kernel.
	_ func(dst, src Conn) (io.ReaderFrom, bool) = splicer
)

// socket is a connection that can be asked all this: by its Conn or by its
// descriptor. The rules that engines share are written for it.
type socket interface {
	dead() bool
	orderly() (sent, known bool)
	pendingError() error
	unacknowledged() (n int, known bool)
	window() (w window, known bool)
	setUserTimeout(d time.Duration) error
}

// asked is the socket of a Conn.
type asked struct{ c Conn }

func (a asked) dead() bool                           { return dead(a.c) }
func (a asked) orderly() (sent, known bool)          { return orderly(a.c) }
func (a asked) pendingError() error                  { return pendingError(a.c) }
func (a asked) unacknowledged() (n int, known bool)  { return unacknowledged(a.c) }
func (a asked) window() (w window, known bool)       { return windowOf(a.c) }
func (a asked) setUserTimeout(d time.Duration) error { return setUserTimeout(a.c, d) }

// arrived asks how much of what was written to s its peer has not acknowledged yet.
// lost is the condition of a peer that died before it had; nothing is left then.
func arrived[S socket](s S) (left int, lost condition, known bool) {
	left, known = s.unacknowledged()
	if left == 0 || !known || !s.dead() {
		return left, sound, known
	}
	if err := s.pendingError(); err != nil {
		lost = conditionOf(err)
	}
	return 0, lost, true
}
