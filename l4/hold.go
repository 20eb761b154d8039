package l4

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// A client that waits for a backend is woken by what may give it one: a change of the
// pool, a session that ends on a full backend, a service that goes on. Where the pool
// knows of no change, because the last usable backend is never taken out of use though
// its dials fail, the first in the line tries again now and then on behalf of all. Every
// connect that succeeds wakes two more, so the line empties at the pace that the backend
// proves.
const (
	firstScout = 25 * time.Millisecond
	lastScout  = 200 * time.Millisecond
	wokenBy    = 2 // a connect
	// resumeTime is what a line has, after a pause, for everybody's turn to come.
	resumeTime = 10 * time.Second
)

// waitingRoom is a line of clients. The zero value has no room: set most.
type waitingRoom struct {
	n      atomic.Int32 // who waits
	full   atomic.Int32 // of them for nothing but a slot of a backend that has all it may have
	events atomic.Uint64
	slots  atomic.Uint64 // that dials which failed gave back
	most   int

	mu          sync.Mutex // guards the rest
	first, last *waiter
	tickets     uint64
	members     int // who has a ticket: waits, or has its turn
}

// seen is what had happened that may give somebody a backend.
type seen struct{ events, slots uint64 }

// look returns what has happened.
func (r *waitingRoom) look() seen { return seen{r.events.Load(), r.slots.Load()} }

// waiter is a place in the line.
type waiter struct {
	ticket  uint64 // 0 = none yet
	full    bool   // no dial of its has failed: all it lacks is a slot
	limited bool   // there is nothing for it to dial, though there may be for others
	served  uint64 // one more than the newest event that gave it a turn

	turn     chan struct{} // closed when it is the client's turn: it is not in the line then
	inLine   bool
	next     *waiter
	previous *waiter
}

// enter joins the line: at its end, or for a client that had its turn in vain, with the
// ticket of before, where it was. If something has happened that it had not seen when it
// found no backend, it is its turn at once. It returns false if there is no room.
func (r *waitingRoom) enter(w *waiter, had seen) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.ticket == 0 {
		if r.members >= r.most {
			return false
		}
		r.members++
		r.tickets++
		w.ticket = r.tickets
	}
	w.turn, w.inLine = make(chan struct{}), true
	w.previous, w.next = r.last, nil
	for w.previous != nil && w.previous.ticket > w.ticket {
		w.next, w.previous = w.previous, w.previous.previous
	}
	if w.previous != nil {
		w.previous.next = w
	} else {
		r.first = w
	}
	if w.next != nil {
		w.next.previous = w
	} else {
		r.last = w
	}
	// Counted before it looks at what has happened, as signal counts before it looks
	// whether anybody waits: one of the two sees the other.
	r.count(w, 1)
	if r.events.Load() != had.events || w.full && r.slots.Load() != had.slots {
		r.call(w)
	}
	return true
}

// call makes it w's turn; with mu held.
func (r *waitingRoom) call(w *waiter) {
	r.remove(w)
	w.served = r.events.Load() + 1
	close(w.turn)
}

func (r *waitingRoom) count(w *waiter, n int32) {
	r.n.Add(n)
	if w.full {
		r.full.Add(n)
		if n < 0 { // who has seen that it waits, and is about to wait behind it, must hear
			r.slots.Add(1)
		}
	}
}

// remove takes w out of the line; with mu held.
func (r *waitingRoom) remove(w *waiter) {
	if w.previous != nil {
		w.previous.next = w.next
	} else {
		r.first = w.next
	}
	if w.next != nil {
		w.next.previous = w.previous
	} else {
		r.last = w.previous
	}
	w.inLine = false
	r.count(w, -1)
}

// leave ends a wait. It returns false if it was the client's turn: whoever does not take
// it has to signal the next.
func (r *waitingRoom) leave(w *waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !w.inLine {
		return false
	}
	r.remove(w)
	return true
}

// lead takes w out of the line if it is the first of those who have something to dial.
func (r *waitingRoom) lead(w *waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.first
	for first != nil && first.limited && first != w {
		first = first.next
	}
	if first != w {
		return false
	}
	r.remove(w)
	return true
}

// signal tells of an event that may give somebody a backend: it is the turn of the
// first. It does not wait.
func (r *waitingRoom) signal() {
	r.events.Add(1)
	r.next(1)
}

// slot tells that a dial which failed has given its slot back. That is news for those who
// wait for slots, and not for those whom the same backend may have failed: they would wake
// each other for ever.
func (r *waitingRoom) slot() {
	r.slots.Add(1)
	if r.full.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := r.first; w != nil; w = w.next {
		if w.full {
			r.call(w)
			return
		}
	}
}

// pass gives a turn, or a slot, that somebody does not take to the next.
func (r *waitingRoom) pass() {
	if r.next(1) == 0 {
		r.slot()
	}
}

// depart gives up a ticket.
func (r *waitingRoom) depart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members--
}

// next makes it the turn of so many, and returns of how many, who have not had one by the newest event: else two
// whom the same backend fails would call each other for ever.
func (r *waitingRoom) next(n int) (called int) {
	if r.n.Load() == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := r.events.Load()
	for w := r.first; w != nil && n > 0; {
		following := w.next
		if w.served <= newest {
			r.call(w)
			n--
			called++
		}
		w = following
	}
	return called
}

// proven tells of a connect that succeeded.
func (r *waitingRoom) proven() {
	if r.n.Load() > 0 {
		r.events.Add(1)
		r.next(wokenBy)
	}
}

// held is what a session that waits, or has waited, knows of it.
type held struct {
	total   time.Duration // for which it has waited, in all
	since   time.Duration // when it began to wait, on the service's clock; 0 = it never did
	paused  time.Duration // for which it waited for the end of a pause
	ticket  uint64
	turn    bool   // it is its turn to choose, and others may follow
	scout   bool   // likewise, but on trial: others follow when it is connected
	scouts  int    // such tries in a row
	limited bool   // it had nothing to dial when it last waited
	seen    seen   // when it last chose in vain
	served  uint64 // see waiter
}

// mayHold tells whether a client that ends so for want of a backend may wait for one.
func (sess *Session) mayHold(why relay.Why) bool {
	switch why {
	case relay.Paused:
		return true
	case relay.NoBackend, relay.BackendsFull, relay.ConnectFailed:
		return sess.cfg.Connect.Hold > 0
	}
	return false
}

// hold waits until a backend may be to be had. It returns the session's end if that takes
// too long, if the client leaves, or if there are too many that wait.
func (sess *Session) hold(e relay.End) relay.End {
	s := sess.svc
	t, now := sess.trouble(), s.now()
	full := e.Why == relay.BackendsFull && len(t.tried) == 0
	if t.held.turn && !full {
		t.held.turn = false
		s.room.next(1) // there was nothing for this one, which says little of the others
	}
	w := &waiter{
		ticket: t.held.ticket, served: t.held.served, full: full,
		limited: e.Why == relay.ConnectFailed && len(t.tried) == 0,
	}
	if t.held.since == 0 {
		t.held.since = now
	}
	if !s.room.enter(w, t.held.seen) {
		sess.note("too many clients wait for a backend already")
		return e
	}
	t.held.ticket, t.held.turn, t.held.scout, t.held.limited = w.ticket, false, false, w.limited
	sess.setWaits(true)
	end := sess.wait(w, e)
	sess.setWaits(false)
	t.held.total += s.now() - now
	if e.Why == relay.Paused {
		t.held.paused += s.now() - now
	}
	t.tried, t.withdrawn = nil, nil
	return end
}

// wait is hold's, in line.
func (sess *Session) wait(w *waiter, e relay.End) relay.End {
	s, t, gone := sess.svc, sess.trouble(), sess.watchClient()
	defer gone.stop()
	deadline := time.NewTimer(sess.patience(e.Why))
	defer deadline.Stop()
	scout := time.NewTimer(sess.scoutPause())
	defer scout.Stop()
	if len(t.tried) == 0 && !(w.limited && sess.knocks()) {
		scout.Stop() // there is none to try, until somebody tells
	}
	for {
		select {
		case <-w.turn:
			t.held.turn, t.held.scouts, t.held.served = true, 0, w.served
			return relay.End{}
		case <-scout.C:
			if s.room.lead(w) {
				t.held.scout = true
				t.held.scouts++
				return relay.End{}
			}
			scout.Reset(sess.scoutPause())
		case <-deadline.C:
			if d := sess.patience(e.Why); d > 0 { // the pause was made longer
				deadline.Reset(d)
				continue
			}
			return sess.leaveRoom(w, e)
		case <-gone.left:
			return sess.leaveRoom(w, relay.End{Who: relay.Client, Why: relay.Reset})
		case <-s.ctx.Done():
			return sess.leaveRoom(w, relay.End{Who: relay.Operator, Why: relay.Drain})
		}
	}
}

// setWaits says whether the session waits.
func (sess *Session) setWaits(waits bool) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.waits = waits
}

// leaveRoom ends a wait in vain.
func (sess *Session) leaveRoom(w *waiter, e relay.End) relay.End {
	if !sess.svc.room.leave(w) {
		sess.svc.room.pass()
	}
	return e
}

// turns tells whether the session is let through now, or nobody waits in front of it.
func (sess *Session) turns() bool {
	t := sess.troubles
	return t != nil && (t.held.turn || t.held.scout) || sess.svc.room.full.Load() == 0
}

// chose lets the next in line follow a session that has found a backend in its turn.
func (sess *Session) chose() {
	if t := sess.troubles; t != nil && t.held.turn {
		t.held.turn = false
		sess.svc.room.next(1)
	}
}

// passTurn is for a session that ends in its turn without a backend.
func (sess *Session) passTurn() {
	if t := sess.troubles; t != nil && (t.held.turn || t.held.scout) {
		t.held.turn, t.held.scout = false, false
		sess.svc.room.pass()
	}
}

// departs is for a session that does not wait any more, whether it has a backend or not.
func (sess *Session) departs() {
	if t := sess.troubles; t != nil && t.held.ticket != 0 {
		t.held.ticket = 0
		sess.svc.room.depart()
	}
}

// patience returns for how long more a session may wait: hold is over so long after it began
// to, whatever it did in between, but for pauses.
func (sess *Session) patience(why relay.Why) time.Duration {
	s, h := sess.svc, &sess.trouble().held
	left := h.since + h.paused + sess.cfg.Connect.Hold - s.now()
	if why == relay.Paused {
		left = max(left, s.pausedUntil()-s.now()+sess.cfg.Connect.Hold+resumeTime)
	}
	return left
}

// scoutPause returns after how long the first in the line tries by itself.
func (sess *Session) scoutPause() time.Duration {
	return min(lastScout, firstScout<<min(sess.trouble().held.scouts, 8))
}

// clientWatch notices that a client who waits has left.
type clientWatch struct {
	client relay.Conn
	spoken bool          // it has said something already: its end is that of a question
	left   chan struct{} // closed when it has
	done   chan struct{}
}

func (sess *Session) watchClient() *clientWatch {
	c := &clientWatch{client: sess.relay.Client, spoken: sess.trouble().spoken || len(sess.relay.Pending) > 0, left: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c
}

func (c *clientWatch) run() {
	defer close(c.done)
	if relay.AwaitGone(c.client, c.spoken) {
		close(c.left)
	}
}

// stop ends the watch and waits for it.
func (c *clientWatch) stop() {
	c.client.SetReadDeadline(time.Unix(1, 0))
	<-c.done
	c.client.SetReadDeadline(time.Time{})
}
