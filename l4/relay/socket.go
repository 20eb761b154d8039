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
	// pendingError tells whether an error waits on the connection, and takes it.
	_ func(c Conn) bool = pendingError
	// unacknowledged returns the bytes written that the peer has not acknowledged; 0
	// for a connection that is dead.
	_ func(c Conn) (n int, known bool) = unacknowledged
	// acknowledged returns a count that grows when the peer acknowledges bytes.
	_ func(c Conn) uint64 = acknowledged
	// windowOf returns what is known of the peer's receive window.
	_ func(c Conn) (w window, known bool) = windowOf
	// setUserTimeout is SetUserTimeout.
	_ func(c Conn, d time.Duration) error = setUserTimeout
	// splicer returns what splices from src to dst inside the kernel.
	_ func(dst, src Conn) (io.ReaderFrom, bool) = splicer
)
