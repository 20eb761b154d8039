package health

import (
	"context"
	"errors"
	"time"
)

// ErrNoVerdict is wrapped by a [Prober]'s error if the attempt failed for want of something
// of our own (descriptors, ports, memory), and so tells nothing about the backend. The member
// takes it for no result at all: at our limit not every backend is down.
var ErrNoVerdict = errors.New("health: the probe could not be made")

// State is what the active check knows about a backend.
type State uint8

const (
	Unknown State = iota // no probe has ended yet, or there is no active check
	Up                   // the check passes
	Down                 // the check fails
)

// String returns "unknown", "up" or "down".
func (s State) String() string {
	switch s {
	case Up:
		return "up"
	case Down:
		return "down"
	default:
		return "unknown"
	}
}

// Source is who saw what a [Cause] tells.
type Source uint8

const (
	SourceProbe Source = iota // an active check
	SourceDial                // dials and sessions of clients
)

// String returns "probe" or "dial".
func (s Source) String() string {
	if s == SourceDial {
		return "dial"
	}
	return "probe"
}

// Cause is why a backend's state changed: who saw what.
type Cause struct {
	Source Source
	// Reason is one short line for an operator, at most a few hundred bytes.
	// It may quote what a backend sent, so it is not to be trusted as markup.
	Reason string
	// At is when the verdict fell.
	At time.Time
	// Took is how long the deciding probe took, its goodbye included; 0 from SourceDial.
	Took time.Duration
	// Streak is how many results in a row agree: probes, failed dials, or sessions
	// ended at once. It is 0 where time alone decided (an ejection that is over).
	Streak int
	// Evidence is what the deciding probe saw; zero from SourceDial.
	Evidence Evidence
	// Unsure is that of the deciding probe's [Failure]: the backend may well be working, and
	// it is no ground to end the sessions that it has. False from SourceDial.
	Unsure bool
}

// Prober makes one attempt to see whether a backend works.
//
// Probe returns nil if it does. The error otherwise is what an operator reads at 3 a.m.:
// the stage and what was seen, short, without the address ("connect: connection refused",
// "http: status 503, want 200-399"). The context carries the one deadline over everything
// a probe does, its goodbye included; once it has passed, [context.Cause] of it reads
// "no answer within 1s". A verdict reached before the deadline stands, whatever happens
// in the goodbye. A member never calls Probe twice at the same time.
//
// A prober that keeps something from one probe to the next, such as a connection, also is
// an [io.Closer]: a member that is stopped calls Close after its last Probe, to let go of
// it. The prober may be used again after that, by another member. One that wraps another has
// to pass Close on.
type Prober interface {
	Probe(ctx context.Context) error
}

// Gate is where a [Member]'s verdicts act: the pool's entry of that backend.
//
// Calls for one member are serialised, since they are made under the member's lock. So
// they must not block, must not call back into the member, and must not wait for someone
// who holds a lock of theirs while calling [Member.Stop] or [Monitor.Close].
//
// A backend that rises while it is ejected gets Restore and SetHealth(Up) back to back, in
// this order: a Gate that reports "up" only when the backend becomes usable reports it
// once, with the probe's reason.
type Gate interface {
	// SetHealth is called on transitions, and again, with Down, when the reason for which it
	// is down has changed: when Config.Fall probes in a row have failed for the same other
	// one. Whether the probes are unsure is a part of the reason, numbers in it are not.
	SetHealth(s State, c Cause)
	// Eject takes the backend out until Restore. It is called again for every further
	// failure, as the pool may have lifted an ejection by itself, so it must be
	// idempotent. It returns false if refused: this is the last usable backend.
	Eject(c Cause) bool
	// Restore ends an ejection; false if there was none.
	Restore(c Cause) bool
}
