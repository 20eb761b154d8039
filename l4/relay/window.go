package relay

import "time"

// TCP_USER_TIMEOUT finds a peer that vanished with data in flight. But the kernel
// also counts the time for which a living peer keeps its receive window closed, and
// so would cut a reader that pauses. While the window is closed the option is
// therefore lifted, and the peer is held to what it owes then: answers to the
// kernel's window probes.

const (
	// patrolShare is how often in a user timeout the windows are looked at: often
	// enough to be there before the kernel.
	patrolShare  = 3
	patrolLeast  = 10 * time.Millisecond
	unansweredOK = 2 // window probes in a row that may go without an answer
)

// window is what the kernel knows of a peer's receive window.
type window struct {
	closed     bool          // data waits for it to open
	silent     time.Duration // since the peer last acknowledged anything, a window probe included
	unanswered int           // probes or retransmissions since then
}

// patrol returns in what time the windows are to be looked at again.
func (r *run) patrol() time.Duration {
	if r.s.Limits.User <= 0 {
		return never
	}
	return max(r.s.Limits.User/patrolShare, patrolLeast)
}

// liftUserTimeout lifts or restores the user timeout of l, as its window demands. It
// tells whether l's peer has stopped answering. With the watchdog's mutex held.
func (r *run) liftUserTimeout(l *leg) (dead bool) {
	user := r.s.Limits.User
	if user <= 0 || !l.lifted && !r.ending() && !r.pumpTo(l).delivering.Load() {
		return false
	}
	switch w, known := windowOf(l.conn); {
	case !known:
	case w.closed && !l.lifted:
		l.lifted = setUserTimeout(l.conn, 0) == nil
	case w.closed:
		return w.unanswered > unansweredOK && w.silent >= user
	case l.lifted:
		l.lifted = setUserTimeout(l.conn, user) != nil
	}
	return false
}

// pumpTo returns the pump that writes to l.
func (r *run) pumpTo(l *leg) *pump {
	if l == &r.legs[ToBackend] {
		return &r.pumps[ToBackend]
	}
	return &r.pumps[ToClient]
}
