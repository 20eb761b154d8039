package load

import "time"

// Visit is one client that came at its time, exchanged once and left. Times are since the
// load began.
type Visit struct {
	// Due is when it was to come, whether or not it could.
	Due time.Duration
	// Late is how long after Due it began: how far the load was behind its own schedule.
	Late time.Duration
	// Took is from Due until it was served or had failed.
	Took time.Duration
	// Session is its number, different in all of a load.
	Session uint64
	// Source is which of the clients' addresses it came from, from 0.
	Source int
	// Backend is who answered, from 0; -1 = nobody, or it cannot be known.
	Backend int
	// Failure is how it failed, and Err with what; empty = it was served.
	Failure Failure
	Err     error
}

// Talk is one long session: a message at each interval, answered or not. Times are since
// the load began.
type Talk struct {
	// Client is which of the clients held it, from 0: it opens another when one ends.
	Client  int
	Session uint64
	Began   time.Duration
	// Ended is when it failed, or the end of the load.
	Ended time.Duration
	// Backend is who answered, from 0; -1 = nobody did.
	Backend int
	// Sent and Answered are numbers of messages.
	Sent, Answered int
	// Failure is how it failed; empty = it lived until the end of the load.
	Failure Failure
	// Waits are those in which the oldest answer that was due was missing for more than
	// what the load calls stuck, in order: from when its message was sent until it came,
	// or the session ended.
	Waits []Span
}

// Span is a piece of time.
type Span struct{ From, To time.Duration }
