package l4

import (
	"errors"
	"os"
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
	sess.svc.tune(sess.relay.Client)
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
	return sess.handOver()
}

// mustSayWho tells whether the client is to send a PROXY header.
func (sess *Session) mustSayWho() bool {
	return !sess.admitted && contains(sess.svc.cfg.Proxy.Accept, sess.client.Addr())
}

// readHeader reads the PROXY header that a trusted peer must send. What came behind
// it in the same segments is the first payload.
func (sess *Session) readHeader() relay.End {
	c := sess.relay.Client
	if d := sess.svc.cfg.Proxy.AcceptTimeout; d > 0 {
		c.SetReadDeadline(sess.svc.at(sess.start).Add(d))
	}
	h, rest, err := readProxyHeader(c)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return relay.End{Who: relay.Sluice, Why: relay.ProxyTimeout}
	case errors.Is(err, errProxyHeader):
		sess.note(nil, err.Error())
		return relay.End{Who: relay.Sluice, Why: relay.ProxyHeader}
	case err != nil:
		return relay.End{Who: relay.Client, Why: relay.Reset}
	}
	c.SetReadDeadline(time.Time{})
	if h.source.IsValid() {
		sess.client, sess.local = h.source, &h.destination
	}
	sess.relay.Pending = rest
	return relay.End{}
}

// admit applies what the configuration says of clients.
func (sess *Session) admit() relay.End {
	s, a := sess.svc, sess.client.Addr()
	if contains(s.cfg.Deny, a) || len(s.cfg.Allow) > 0 && !contains(s.cfg.Allow, a) {
		return relay.End{Who: relay.Sluice, Why: relay.Denied}
	}
	if !reserve(&s.admitted, s.cfg.MaxConnections) {
		return relay.End{Who: relay.Sluice, Why: relay.LimitConnections}
	}
	sess.admitted = true
	if s.cfg.MaxPerSource > 0 && a.IsValid() {
		if !s.sources.enter(sourceOf(a), s.cfg.MaxPerSource) {
			return relay.End{Who: relay.Sluice, Why: relay.LimitPerSource}
		}
		sess.sourced = true
	}
	return relay.End{}
}

// connect finds the session a backend that accepts, each usable one at most once.
func (sess *Session) connect() relay.End {
	for {
		if e := sess.next(); e.Why != relay.Running {
			return e
		}
		conn, err := sess.svc.dial(sess, sess.backend)
		if err == nil {
			sess.connected()
			sess.relay.Backend = conn
			return relay.End{}
		}
		if e := sess.dialFailed(err, relay.Dead(sess.relay.Client)); e.Why != relay.Running {
			return e
		}
	}
}

// next sees to it that there is a backend to dial, from now on.
func (sess *Session) next() relay.End {
	if sess.backend == nil {
		if e := sess.choose(); e.Why != relay.Running {
			return e
		}
	}
	sess.dialled = sess.svc.now()
	return relay.End{}
}

// choose reserves a backend.
func (sess *Session) choose() relay.End {
	s := sess.svc
	if limit := s.cfg.Connect.Attempts; limit > 0 && sess.attempts >= limit {
		// Others may be usable still: this is no outage.
		return relay.End{Who: relay.Sluice, Why: relay.ConnectFailed}
	}
	b, why := s.pool.choose(picker.Hash(sess.client.Addr()), sess.failed())
	if b == nil {
		return sess.noBackend(why)
	}
	sess.attempts++
	if sess.attempts > 1 {
		b.retries.Add(1)
	}
	sess.backend = b
	return relay.End{}
}

// connected takes note of a dial that succeeded.
func (sess *Session) connected() {
	b := sess.backend
	b.hear().DialOK(sess.svc.at(sess.dialled))
	b.total.Add(1)
	sess.svc.pool.accepted()
}

// dialFailed gives the backend back. It returns how the session ends if there is no
// point in trying another: the client may be gone.
func (sess *Session) dialFailed(err error, gone bool) relay.End {
	s, b := sess.svc, sess.backend
	fault := s.faultOf(err)
	fault.began = s.at(sess.dialled)
	b.give()
	b.blame(fault)
	sess.backend = nil
	sess.note(b, b.cfg.Name+": "+fault.text)
	return sess.giveUp(fault, gone)
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

// noBackend ends a session for which no backend is left.
func (sess *Session) noBackend(why relay.Why) relay.End {
	if why == relay.BackendsFull {
		return relay.End{Who: relay.Sluice, Why: why}
	}
	if len(sess.failed()) > 0 {
		why = relay.ConnectFailed
		sess.svc.pool.noUsable("each backend tried failed to connect, the last one, " + sess.trouble())
	}
	sess.svc.pool.refuse()
	return relay.End{Who: relay.Sluice, Why: why}
}
