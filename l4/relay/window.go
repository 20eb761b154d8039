package relay

import "time"

// TCP_USER_TIMEOUT finds a peer that vanished with data in flight. But the kernel
// also counts the time for which a living peer keeps its receive window closed, and
// so would cut a reader that pauses. While bytes are queued towards a peer that takes
// none but answers, the option is therefore lifted, and the peer is held to what it
// owes then: answers to the kernel's window probes.

const (
	// patrolShare is how often in a user timeout the legs are inspected. It takes two
	// times to see that nothing moves, and the kernel must not be there before.
	patrolShare  = 4
	patrolLeast  = 10 * time.Millisecond
	patrolMost   = 10 * time.Second
	unansweredOK = 2 // window probes in a row that may go without an answer
)

// window is what the kernel knows of what is queued towards a peer.
type window struct {
	dead       bool          // the connection is over in both directions
	queued     bool          // bytes wait for the peer's acknowledgement
	closed     bool          // they wait for its window to open
	acked      uint64        // bytes it has acknowledged
	silent     time.Duration // since it last acknowledged anything, a window probe included
	unanswered int           // probes or retransmissions since then
}

// patrol returns in what time the legs are to be inspected again.
func (l Limits) patrol() time.Duration {
	if l.User <= 0 {
		return patrolMost
	}
	return min(max(l.User/patrolShare, patrolLeast), patrolMost)
}

// inspect looks at what the kernel knows of l that no pump may see while it is blocked
// elsewhere, and notes a leg that has died. It tells whether the peer of a lifted leg
// has stopped answering. With the watchdog's mutex held.
func (r *run) inspect(l *leg) (silent bool) {
	dead, silent := inspect(asked{l.conn}, &l.inspection, r.s.limits().User)
	if dead && l.bury() {
		r.touch()
	}
	return silent
}

// inspection is what was found when a leg was last inspected.
type inspection struct {
	acked  uint32 // the low part of how many bytes its peer had acknowledged
	queued bool   // it had more to acknowledge
	moved  bool   // acked was more than at the inspection before
	lifted bool   // the user timeout is
}

// inspect lifts or restores the user timeout of s, as its peer's window demands. It
// tells whether s is dead, and whether the peer of a lifted one has stopped answering.
func inspect[S socket](s S, l *inspection, user time.Duration) (dead, silent bool) {
	w, known := s.window()
	acked := uint32(w.acked)
	l.moved, l.acked, l.queued = acked != l.acked, acked, w.queued
	switch {
	case !known:
		return false, false
	case w.dead:
		return true, false
	}
	switch w.remedy(user, l.queued && !l.moved, l.lifted) {
	case lift:
		l.lifted = s.setUserTimeout(0) == nil
	case restore:
		l.lifted = s.setUserTimeout(user) != nil
	case giveUp:
		return false, true
	}
	return false, false
}

// remedy is what is to be done about the user timeout of a leg.
type remedy uint8

const (
	leave   remedy = iota
	lift           // its peer takes nothing, but answers
	restore        // its peer takes bytes again
	giveUp         // its peer does not even answer
)

// remedy returns what the user timeout needs of a leg that is stalled (bytes are queued,
// and none was acknowledged between the last two inspections) or not, and the timeout
// of which is lifted or not.
func (w window) remedy(user time.Duration, stalled, lifted bool) remedy {
	switch {
	case user <= 0:
		return leave
	case lifted && !stalled:
		return restore
	case lifted && w.unanswered > unansweredOK && w.silent >= user:
		return giveUp
	case !lifted && stalled && (w.closed || w.silent < user/patrolShare):
		return lift
	}
	return leave
}

// Guard looks after the user timeout of a connection that no engine has: it lifts it while
// the peer's window is closed, and resets the connection when the peer stops answering then.
// Limits without a User timeout need none. stop ends it and leaves the user timeout as the
// limits say.
func Guard(c Conn, limits Limits) (stop func()) {
	if limits.User <= 0 {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		guard(c, limits, end)
	}()
	return func() {
		close(end)
		<-ended
	}
}

func guard(c Conn, limits Limits, end <-chan struct{}) {
	var seen inspection
	tick := time.NewTicker(limits.patrol())
	defer tick.Stop()
	for {
		select {
		case <-end:
			if seen.lifted {
				setUserTimeout(c, limits.User) // an engine inspects it from now on
			}
			return
		case <-tick.C:
		}
		if _, silent := inspect(asked{c}, &seen, limits.User); silent {
			resetOnClose(c)
			c.Close()
			return
		}
	}
}
