package relay

import "time"

// AwaitGone waits until the peer of a connection that nobody reads from has gone: it has
// reset the connection, or ended its direction without having said anything; with spoken
// it has said something before, so only a reset counts. It returns false when the
// connection's read deadline has come, and at once where the system cannot be asked.
func AwaitGone(c Conn, spoken bool) bool { return awaitGone(c, spoken) }

// LetThrough waits until the peer of a connection that nobody writes to has acknowledged all
// that was written, or has died, at most for so long: a reset discards what is still queued.
// Where the system cannot be asked it waits for a moment.
func LetThrough(c Conn, within time.Duration) {
	for began := time.Now(); time.Since(began) < within; {
		left, _, known := arrived(asked{c})
		switch {
		case !known:
			time.Sleep(min(blindPause, within))
			return
		case left == 0:
			return
		}
		time.Sleep(pauseAfter(time.Since(began)))
	}
}

// AwaitWord waits until the peer has said something, or has ended its direction: then the
// error is io.EOF. What it said is still to be read, but for what the system does not let
// one look at without taking it: that is in b, and n is how much.
func AwaitWord(c Conn, b []byte) (n int, err error) { return awaitWord(c, b) }
