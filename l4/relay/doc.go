// Package relay moves bytes between the two connected ends of a session until
// both are done. It knows no backend, service or policy: two connections in, one
// End out.
//
// It does not pick, limit or log; package l4 does. Where it accepts and dials it does as
// an Opener says. It does not interpret a single byte.
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
// but whoever asks about one reads the record. There are two. What they have to
// decide alike (hidden resets, inactivity, user timeouts, whether bytes have arrived)
// is written once, for a socket that is asked by its Conn or by its descriptor.
//
// Portable is the engine for every system and the reference that others are compared
// with: a goroutine for each direction. A direction reads through a small buffer
// while traffic is small; on Linux it takes one only when there is something to read.
// A read that fills it moves the direction to bulk: on Linux the standard library's
// splice(2), in chunks short enough to keep the counters honest and under a read
// deadline, so that a direction gone quiet gives its pipe back within a tick;
// elsewhere, or when no pipe is to be had, a larger pooled buffer.
//
// Loops is the engine for Linux: event loops, one for each processor, each with an epoll, a read
// buffer, spare pipes and a timer wheel. Start takes both descriptors away from
// package net and gives them to the loop with the fewest sessions, for good. The loop
// alone touches its tables; others post commands to its mailbox, and counters are
// atomics. A record has no pointer, so the collector does not look into the table. A
// socket is registered once, edge-triggered, and a second time, for room to write, only
// if a write ever finds none; what was reported is kept in the record until a call says
// otherwise. Events carry the generation of
// their slot, so that a late one never reaches the slot's next session.
//
// A direction on a loop has bytes in hand, in a kept buffer or in a pipe, only while
// its destination takes no more; the source is not read meanwhile. Small reads go
// through the loop's buffer and straight out. A read that fills the buffer makes the
// direction bulk, with splice, and it stays so until it moves little between two
// times that its source is empty; but the pipe goes back whenever that happens. A
// read that comes back short has emptied a TCP socket, unless its end was reported
// before (then this was all), or urgent data are about; after one from another kind
// of socket it is asked again. A pipe with bytes left in it is closed, never pooled.
//
// A loop takes turns: events first, then due timers, then one of the sessions that
// have more to do. So a small session waits for one share of bulk at most. Nothing in
// a turn waits: letting bytes through before a reset is polled by timer, and owners,
// who are called from the loop, must not.
//
// Loops is also a Front: every loop watches the listening sockets, one of them is woken
// for a client, and the session stays on the loop that accepted it unless another has
// clearly fewer. The steps before the relay (who is admitted, which backend is dialled,
// what a failed dial means) belong to the session's Opener; the loop connects, without
// waiting, and asks for the next step. Both sockets have their options from the start:
// the accepted one inherits them from the listening one. On loopback, on a system whose
// congestion control paces, both ask for one that does not. A session that has to wait for
// something else (a header, a name) leaves the loop and comes back by Start.
//
// Each loop has a thread of its own. For how it sleeps see sleep.
//
// Ends are decided by what the socket says and not by which call failed: of two
// goroutines on one socket, a write may consume the error that the read was to
// report, and the read then looks like an end of stream. See leg.
//
// Inactivity is one timer a session, which also has the legs inspected now and then.
// It goes by counted bytes; while bytes are queued towards a peer, what it acknowledges
// counts too.
package relay
