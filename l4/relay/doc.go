// Package relay moves bytes between the two connected ends of a session until
// both are done. It knows no backend, service or policy: two connections in, one
// End out.
//
// It does not dial, pick, limit or log; package l4 does. It does not interpret a
// single byte.
//
// # What it promises
//
//   - Bytes arrive whole, in order and once, in both directions.
//   - An end of stream on one side is passed on after all earlier bytes; the other
//     direction goes on.
//   - A reset (or a peer that keepalive or TCP_USER_TIMEOUT declared dead) on one
//     side becomes a reset on the other, after the bytes received before it have
//     been acknowledged by the peer. Over Unix sockets, which know no reset, the
//     peer sees an end of stream.
//   - Both connections are closed exactly once.
//
// # Design
//
// A Session is plain data: two connections, counters, limits and how it ended. An
// Engine is what drives sessions; it may keep state of its own behind a session,
// but whoever asks about one reads the record. Portable is the engine for every
// system and the reference that others are compared with: a goroutine for each
// direction.
//
// A Portable direction reads through a small buffer while traffic is small; on Linux
// it takes one only when there is something to read. A read that fills it moves the direction to bulk: on Linux the standard library's
// splice(2), in chunks short enough to keep the counters honest and under a read
// deadline, so that a direction gone quiet gives its pipe back within a tick;
// elsewhere, or when no pipe is to be had, a larger pooled buffer.
//
// Ends are decided by what the socket says and not by which call failed: of two
// goroutines on one socket, a write may consume the error that the read was to
// report, and the read then looks like an end of stream. See leg.
//
// Inactivity is one timer a session, which also has the legs inspected now and then.
// It goes by counted bytes; while bytes are queued towards a peer, what it acknowledges
// counts too.
package relay
