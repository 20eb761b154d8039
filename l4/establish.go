package l4

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// run is a session's goroutine, from accept to the hand-over.
func (sess *Session) run() {
	if e := sess.establish(); e.Why != relay.Running {
		sess.turnAway(e)
	}
}

// establish takes a session through its steps to the relay; the zero End if it got
// there.
func (sess *Session) establish() relay.End {
	sess.tune(sess.relay.Client)
	if sess.mustSayWho() {
		if e := sess.readHeader(); e.Why != relay.Running {
			return e
		}
	}
	if !sess.admitted {
		if e := sess.admit(); e.Why != relay.Running {
			return e
		}
	}
	if e := sess.connect(); e.Why != relay.Running {
		return e
	}
	if sess.cfg.Connect.Replay > 0 {
		if e := sess.firstFlight(); e.Why != relay.Running {
			return e
		}
	}
	return sess.handOver()
}

// mustSayWho tells whether the client is to send a PROXY header.
func (sess *Session) mustSayWho() bool {
	return !sess.admitted && contains(sess.cfg.Proxy.Accept, sess.client.Addr())
}

// readHeader reads the PROXY header that a trusted peer must send. What came behind
// it in the same segments is the first payload.
func (sess *Session) readHeader() relay.End {
	c := sess.relay.Client
	if d := sess.cfg.Proxy.AcceptTimeout; d > 0 {
		c.SetReadDeadline(sess.svc.at(sess.start).Add(d))
	}
	h, rest, err := readProxyHeader(c)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return relay.End{Who: relay.Sluice, Why: relay.ProxyTimeout}
	case errors.Is(err, errProxyHeader):
		sess.note(err.Error())
		return relay.End{Who: relay.Sluice, Why: relay.ProxyHeader}
	case err != nil:
		return relay.End{Who: relay.Client, Why: relay.Reset}
	}
	c.SetReadDeadline(time.Time{})
	if h.source.IsValid() {
		sess.mu.Lock()
		sess.client = h.source
		sess.mu.Unlock()
		sess.local = &h.destination
	}
	sess.relay.Pending = rest
	return relay.End{}
}

// admit applies what the configuration says of clients.
func (sess *Session) admit() relay.End {
	s, a := sess.svc, sess.client.Addr()
	if contains(sess.cfg.Deny, a) || len(sess.cfg.Allow) > 0 && !contains(sess.cfg.Allow, a) {
		return relay.End{Who: relay.Sluice, Why: relay.Denied}
	}
	if sess.cfg.Rate != nil && !sess.cfg.Rate(a) {
		return relay.End{Who: relay.Sluice, Why: relay.LimitRate}
	}
	if !reserve(&s.admitted, sess.cfg.MaxConnections) {
		return relay.End{Who: relay.Sluice, Why: relay.LimitConnections}
	}
	sess.admitted = true
	if sess.cfg.MaxPerSource > 0 && a.IsValid() {
		if !s.sources.enter(sourceOf(a), sess.cfg.MaxPerSource) {
			return relay.End{Who: relay.Sluice, Why: relay.LimitPerSource}
		}
		sess.sourced = true
	}
	return relay.End{}
}

// connect finds the session a backend that accepts, and waits for one if that is allowed.
func (sess *Session) connect() relay.End {
	defer sess.departs()
	for {
		e := sess.race()
		switch {
		case e.Why == relay.Running:
			return e
		case e.Who != relay.Sluice || !sess.mayHold(e.Why):
			sess.passTurn()
			return sess.refused(e)
		}
		if end := sess.hold(e); end.Why != relay.Running {
			return sess.refused(end)
		}
		if t := sess.trouble(); t.held.scout && t.held.limited {
			if sess.knock(); sess.patience(e.Why) <= 0 {
				sess.passTurn()
				return sess.refused(e)
			}
		}
	}
}

// next sees to it that there is a backend to dial, from now on.
func (sess *Session) next() relay.End {
	if sess.backend == nil {
		b, e := sess.choose(nil)
		if b == nil {
			return e
		}
		sess.backend = b
	}
	sess.dialled = sess.svc.now()
	return relay.End{}
}

// choose reserves a backend, beside those that are dialled already.
func (sess *Session) choose(dialled []*Backend) (*Backend, relay.End) {
	s, seen := sess.svc, sess.svc.room.look()
	b, why := s.chooseFor(sess, dialled)
	if b == nil {
		if sess.mayHold(why) {
			sess.trouble().held.seen = seen
		}
		return nil, relay.End{Who: relay.Sluice, Why: why}
	}
	sess.retries(b)
	sess.attempts++
	if sess.attempts > 1 {
		b.retries.Add(1)
	}
	sess.chose()
	return b, relay.End{}
}

// chooseFor is choose without the accounts.
func (s *Service) chooseFor(sess *Session, dialled []*Backend) (*Backend, relay.Why) {
	limit := sess.cfg.Connect.Attempts
	switch {
	case s.paused() && len(dialled) == 0:
		return nil, relay.Paused
	case limit > 0 && len(sess.failed())-len(sess.excused())+len(dialled) >= limit:
		return nil, relay.ConnectFailed // others may be usable still: this is no outage
	case !sess.turns():
		return nil, relay.BackendsFull
	}
	tried, heard := sess.failed(), sess.heardBy()
	if len(dialled)+len(heard) > 0 {
		tried = slices.Concat(tried, dialled, heard)
	}
	b, why := s.pool.choose(picker.Hash(sess.client.Addr()), tried, sess.excused()...)
	if b != nil || why == relay.BackendsFull || len(sess.failed())+len(heard) == 0 {
		return b, why
	}
	if len(dialled) == 0 && len(sess.failed()) > 0 && len(sess.heardOnce()) == 0 {
		s.pool.noUsable("each backend tried failed to connect, the last one, " + sess.trouble().last)
	}
	return nil, relay.ConnectFailed
}

// excused returns the backends that failed by no fault of theirs: they were taken out of use
// while they were dialled.
func (sess *Session) excused() []*Backend {
	if sess.troubles == nil {
		return nil
	}
	return sess.withdrawn
}

// retries notes that b is dialled once more, if it was excused.
func (sess *Session) retries(b *Backend) {
	t := sess.troubles
	if t == nil || len(t.withdrawn) == 0 {
		return
	}
	is := func(o *Backend) bool { return o == b }
	t.tried, t.withdrawn = slices.DeleteFunc(t.tried, is), slices.DeleteFunc(t.withdrawn, is)
}

// refused counts a client that no backend was found for.
func (sess *Session) refused(e relay.End) relay.End {
	if e.Why == relay.NoBackend || e.Why == relay.ConnectFailed {
		sess.svc.pool.refuse()
	}
	return e
}

// errWithdrawn is a dial to a backend that may serve no session any more.
var errWithdrawn = errors.New("taken out of use meanwhile")

// connected takes note of a dial that succeeded. The session may not have the backend if
// that was withdrawn meanwhile.
func (sess *Session) connected() error {
	b := sess.backend
	if !sess.serve(b) {
		return errWithdrawn
	}
	b.hear().DialOK(sess.svc.at(sess.dialled))
	b.total.Add(1)
	sess.svc.pool.accepted()
	sess.svc.room.proven()
	return nil
}

// dialFailed gives the backend back. It returns how the session ends if there is no
// point in trying another: the client may be gone.
func (sess *Session) dialFailed(err error, gone bool) relay.End {
	b := sess.backend
	sess.backend = nil
	return sess.lost(b, sess.dialled, err, gone)
}

// lost gives back a backend, the dial to which began then and failed.
func (sess *Session) lost(b *Backend, began time.Duration, err error, gone bool) relay.End {
	s := sess.svc
	fault := sess.faultOf(err)
	fault.began = s.at(began)
	s.giveSlotBack(b)
	b.blame(fault)
	sess.failedWith(b, fault.text, began)
	if fault.kind == dialWithdrawn {
		sess.withdrawn = append(sess.withdrawn, b)
	}
	return sess.giveUp(fault, gone)
}

// giveBack ends what a session had reserved.
func (s *Service) giveBack(b *Backend) {
	b.give()
	if b.limit.Load() > 0 {
		s.room.signal()
	}
}

// giveSlotBack ends what a dial that led to no session had reserved.
func (s *Service) giveSlotBack(b *Backend) {
	b.give()
	if b.limit.Load() > 0 {
		s.room.slot()
	}
}

// giveUp tells whether a failed dial leaves no point in trying another backend.
func (sess *Session) giveUp(f *dialFault, gone bool) relay.End {
	switch {
	case f.kind == dialDescriptors:
		return relay.End{Who: relay.Sluice, Why: relay.Descriptors}
	case sess.svc.ctx.Err() != nil:
		return relay.End{Who: relay.Operator, Why: relay.Drain}
	case gone:
		return relay.End{Who: relay.Client, Why: relay.Reset}
	}
	return relay.End{}
}
