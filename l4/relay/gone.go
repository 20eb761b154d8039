package relay

// AwaitGone waits until the peer of a connection that nobody reads from has gone: it has
// reset the connection, or ended its direction without having said anything; with spoken
// it has said something before, so only a reset counts. It returns false when the
// connection's read deadline has come, and at once where the system cannot be asked.
func AwaitGone(c Conn, spoken bool) bool { return awaitGone(c, spoken) }

// AwaitWord waits until the peer has said something, or has ended its direction: then the
// error is io.EOF. What it said is still to be read, but for what the system does not let
// one look at without taking it: that is in b, and n is how much.
func AwaitWord(c Conn, b []byte) (n int, err error) { return awaitWord(c, b) }
