package relay

// AwaitGone waits until the peer of a connection that nobody reads from has gone: it has
// reset the connection, or ended its direction without having said anything. It returns
// false when the connection's read deadline has come, and at once where the system cannot
// be asked.
func AwaitGone(c Conn) bool { return awaitGone(c) }
