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
