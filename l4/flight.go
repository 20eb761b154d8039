package l4

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

const (
	// answerBuffer is for the backend's first bytes, where they have to be taken. The
	// client's socket has room for them: it has been sent nothing yet.
	answerBuffer = 4 << 10
	wordsAtOnce  = 16 << 10
)

// past is a deadline that ends a read or a write at once.
var past = time.Unix(1, 0)

// aloft is where a session is in its first flight.
type aloft uint8

const (
	grounded aloft = iota // it is not, or not any more
	flying                // since its connect
	diverted              // it is to go on with another backend, if it can
)

// errDiverted is the end of a flight to a backend that may serve no session any more.
var errDiverted = errors.New("taken out of use")

// flight is the time between a session's connect and its backend's first byte: what the
// client says is kept, for another backend if this one ends the session before it has
// answered.
type flight struct {
	*Session
	words []byte      // what the client has said
	sent  int         // of it, to the backend
	ended bool        // the client has ended its direction, and the backend was told
	gone  bool        // the client has reset its connection
	idle  *time.Timer // nil = none was set
}

// answer is what a backend had to say first.
type answer struct {
	bytes []byte
	err   error
}

// spoken tells whether the backend has answered.
func (a answer) spoken() bool { return a.err == nil }

// silent tells whether the backend has neither answered nor ended the session.
func (a answer) silent() bool { return errors.Is(a.err, os.ErrDeadlineExceeded) }

// firstFlight relays until the backend has answered, or the client has said more than is
// kept.
func (sess *Session) firstFlight() relay.End {
	f := flight{Session: sess, words: sess.relay.Pending}
	sess.relay.Pending = nil
	defer f.stop()
	for {
		f.sent = 0
		a := f.exchange()
		away := f.arrive()
		if away && a.silent() {
			a.err = errDiverted
		}
		switch {
		case sess.wasKilled():
			return relay.End{Who: relay.Sluice, Why: relay.Internal} // its end is the kill's
		case f.gone:
			f.deliver()
			return relay.End{Who: relay.Client, Why: relay.Reset}
		case a.spoken(), a.silent(), f.tooMuch(), f.ended && errors.Is(a.err, io.EOF):
			if away && f.svc.cfg().OnDown == OnDownClose {
				return relay.End{Who: relay.Sluice, Why: relay.BackendDown} // too late to go elsewhere
			}
			return f.land(a)
		}
		f.relay.Client.SetReadDeadline(time.Time{})
		if e := f.again(a.err); e.Why != relay.Running {
			return e
		}
	}
}

// divert has a session of b in its first flight go on with another backend, unless it has
// been answered. Others it leaves as they are.
func (sess *Session) divert(b *Backend) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.flight != grounded && sess.serving.Load() == b {
		sess.flight = diverted
		sess.heed()
	}
}

// heed ends the wait for an answer of a session that is diverted. With mu held.
func (sess *Session) heed() {
	if sess.flight == diverted && sess.relay.Ends != nil && sess.relay.Backend != nil {
		sess.relay.Backend.SetReadDeadline(past)
	}
}

// arrive ends the flight, unless it was diverted: then it tells so, and the session stays
// aloft until it has another backend or has landed. Who closes the backend's sessions would
// take it for one of them else.
func (sess *Session) arrive() (away bool) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.flight == flying {
		sess.flight = grounded
	}
	return sess.flight == diverted
}

// ground ends the flight for good: nobody else sets the backend's deadline from then on.
func (sess *Session) ground() {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.flight = grounded
}

// exchange tells the backend what the client says, until the backend has answered or
// ended the session, or more has been said than is kept.
func (f *flight) exchange() answer {
	client, backend := f.relay.Client, f.relay.Backend
	defer relay.Guard(backend, f.cfg.Limits)()
	heard := make(chan answer, 1)
	go func() {
		b := make([]byte, answerBuffer)
		n, err := relay.AwaitWord(backend, b)
		client.SetReadDeadline(past)
		backend.SetWriteDeadline(past)
		heard <- answer{b[:n], err}
	}()
	if f.tell() {
		backend.SetReadDeadline(past)
	}
	return <-heard
}

// tell passes on what the client says. It returns false if it is the backend's turn: it
// has spoken, or has to before anything else can happen.
func (f *flight) tell() (enough bool) {
	for {
		n, err := f.relay.Backend.Write(f.words[f.sent:])
		f.sent += n
		switch {
		case err != nil:
			return false // it will tell why
		case f.tooMuch():
			return true
		case f.ended:
			f.relay.Backend.CloseWrite()
			f.awaitBytes()
			return false
		}
		f.awaitBytes()
		n, err = f.listen()
		switch {
		case n == 0 && errors.Is(err, io.EOF):
			f.ended = true
		case n == 0 && errors.Is(err, os.ErrDeadlineExceeded):
			return false
		case n == 0 && err != nil:
			f.gone = true
			return true
		}
	}
}

// tooMuch tells whether the client has said more than is kept.
func (f *flight) tooMuch() bool { return len(f.words) > f.cfg.Connect.Replay }

// listen takes what the client says, and at most one byte more than is kept.
func (f *flight) listen() (int, error) {
	room := min(wordsAtOnce, f.cfg.Connect.Replay+1-len(f.words))
	at := len(f.words)
	f.words = append(f.words, make([]byte, room)...)
	n, err := f.relay.Client.Read(f.words[at:])
	f.words = f.words[:at+n]
	return n, err
}

// awaitBytes sets the time for which nothing may be said.
func (f *flight) awaitBytes() {
	f.stop()
	if limit, why := f.cfg.Limits.Inactivity(f.ended); limit > 0 {
		f.idle = time.AfterFunc(limit, func() { f.kill(relay.End{Who: relay.Sluice, Why: why}) })
	}
}

func (f *flight) stop() {
	if f.idle != nil {
		f.idle.Stop()
	}
}

// land gives the session to the engine: from now on nothing can be said again.
func (f *flight) land(a answer) relay.End {
	f.ground()
	f.relay.Client.SetReadDeadline(time.Time{})
	f.relay.Backend.SetDeadline(time.Time{})
	f.relay.Shut = f.ended
	if f.sent < len(f.words) {
		f.relay.Pending = f.words[f.sent:]
	}
	f.relay.Carried(relay.ToBackend, int64(f.sent))
	if len(a.bytes) == 0 {
		return relay.End{}
	}
	if _, err := f.relay.Client.Write(a.bytes); err != nil {
		return relay.End{Who: relay.Client, Why: relay.Reset}
	}
	f.relay.Carried(relay.ToClient, int64(len(a.bytes)))
	return relay.End{}
}

// deliver sends the backend what is left of the words of a client that has reset its
// connection, before that becomes a reset of the backend's.
func (f *flight) deliver() {
	within := f.cfg.Limits.User
	if within <= 0 {
		within = lastDelivery
	}
	backend := f.relay.Backend
	backend.SetWriteDeadline(time.Now().Add(within))
	n, err := backend.Write(f.words[f.sent:])
	f.relay.Carried(relay.ToBackend, int64(f.sent+n))
	if err == nil {
		relay.LetThrough(backend, within)
	}
}

// lastDelivery is how long a backend may take to accept the last words of a client that is
// gone, if no user timeout says so.
const lastDelivery = 30 * time.Second

// hearing is a backend that got what a client said first, and how often it had fallen by
// then.
type hearing struct {
	b       *Backend
	falls   int64
	knocked bool // it was dialled since, and accepted
}

// again finds the session another backend for the same words.
func (f *flight) again(why error) relay.End {
	f.stop()
	b := f.backend
	what := "ended the session before its first byte"
	switch {
	case errors.Is(why, errDiverted):
		what = "taken out of use before its first byte"
	case !errors.Is(why, io.EOF):
		what += ": " + innermost(why).Error()
	}
	f.mu.Lock()
	abort(f.relay.Backend)
	f.relay.Backend = nil
	f.serving.Store(nil)
	f.Session.flight = grounded
	f.mu.Unlock()
	if f.blames(why) {
		b.hear().EndedAtOnce()
	}
	f.backend = nil
	f.svc.giveBack(b)
	f.failedWith(b, what, f.dialled)
	t := f.trouble()
	if t.spoken = len(f.words) > 0; f.sent > 0 {
		t.heard = append(t.heard, hearing{b: b, falls: b.falls.Load()})
	}
	if e := f.connect(); e.Why != relay.Running {
		return e
	}
	t.replayed++
	f.backend.replays.Add(1)
	return relay.End{}
}

// blames tells whether the end of the backend's side counts against it, as endedAtOnce
// does after the hand-over: an end in order after bytes of the client may be deserved, and
// one that was diverted is ours.
func (f *flight) blames(why error) bool {
	deserved := errors.Is(why, io.EOF) && f.sent > 0
	return !deserved && !errors.Is(why, errDiverted) && f.svc.now()-f.dialled < atOnce
}

// heardOnce returns who got the session's first words, and ended it.
func (sess *Session) heardOnce() []hearing {
	if sess.troubles == nil {
		return nil
	}
	return sess.troubles.heard
}

// heardBy returns the backends that got the session's first words and have not fallen
// since: they are not to get them twice.
func (sess *Session) heardBy() (all []*Backend) {
	if sess.troubles == nil {
		return nil
	}
	for _, h := range sess.troubles.heard {
		if h.b.falls.Load() == h.falls {
			all = append(all, h.b)
		}
	}
	return all
}

// knocks tells whether knock has anybody to dial.
func (sess *Session) knocks() bool {
	return sess.troubles != nil && slices.ContainsFunc(sess.troubles.heard, hearing.open)
}

// open tells whether it is not known if the backend has gone since.
func (h hearing) open() bool { return !h.knocked && h.b.falls.Load() == h.falls }

// knockTime bounds a knock: a backend that is being restarted refuses at once.
const knockTime = time.Second

// knock dials once each backend that got the session's first words, to learn whether it has
// gone since: nobody else may be about to.
func (sess *Session) knock() {
	if sess.troubles == nil {
		return
	}
	s := sess.svc
	for i := range sess.troubles.heard {
		h := &sess.troubles.heard[i]
		if !h.open() || !h.b.take() {
			continue
		}
		began := time.Now()
		ctx, cancel := context.WithTimeoutCause(s.ctx, knockTime, os.ErrDeadlineExceeded)
		conn, err := sess.dial(ctx, h.b)
		cancel()
		if err == nil {
			conn.Close() // while it has the slot: the next one may be at the door at once
			h.knocked = true
		}
		s.giveSlotBack(h.b)
		if err == nil {
			continue
		}
		f := sess.faultOf(err)
		f.began = began
		h.b.blame(f)
	}
}
