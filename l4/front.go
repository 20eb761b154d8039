package l4

import (
	"errors"
	"net"

	"github.com/sluicelb/sluice/l4/relay"
)

// front has the engine accept, and connect, until the service is closing. The error is
// errors.ErrUnsupported for an engine, or a listener, that this is not for.
func (a *acceptor) front() error {
	engine, able := a.s.engine.(relay.Front)
	ln, ours := a.ln.(*listener)
	if !able || !ours {
		return errors.ErrUnsupported
	}
	listening, err := engine.Listen(ln, a.s.cfg().sockets(), a)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return errors.ErrUnsupported // out of descriptors, say: the other way needs none
	} else if err != nil {
		return err
	}
	ln.taken(listening)
	defer ln.gaveUp()
	select {
	case <-a.s.stopping:
	case <-ln.closed:
	case err := <-a.dead:
		return err
	}
	return net.ErrClosed
}

// Accepted implements relay.Reception. What a client has to say before it may be
// admitted is read elsewhere.
func (a *acceptor) Accepted(c relay.Arrival) *relay.Session {
	if a.wait.Load() != 0 {
		a.wait.Store(0)
	}
	sess := a.welcome(c, nil)
	switch {
	case sess == nil:
		return nil
	case !sess.mustSayWho():
		return &sess.relay
	}
	sess.Left(c.Leave())
	return nil
}

// OptionFailed implements relay.Reception.
func (a *acceptor) OptionFailed(err error) { a.s.sayNotTuned(err) }

// Open implements relay.Opener.
func (sess *Session) Open() relay.Step {
	sess.mu.Lock()
	sess.handed = true
	e := sess.killed
	sess.mu.Unlock()
	if e.Why == relay.Running {
		e = sess.admit()
	}
	if e.Why != relay.Running {
		return relay.Step{End: e}
	}
	return sess.nextStep()
}

// nextStep says how the next backend is reached. Who may have to wait, or has words that
// are kept, leaves the engine.
func (sess *Session) nextStep() relay.Step {
	if sess.cfg.Connect.Replay > 0 {
		return relay.Step{Leave: true}
	}
	if e := sess.next(); e.Why != relay.Running {
		if sess.mayHold(e.Why) {
			return relay.Step{Leave: true}
		}
		return relay.Step{End: sess.refused(e)}
	}
	if sess.backend.direct == nil { // a name has to be looked up
		return relay.Step{Leave: true}
	}
	return relay.Step{To: sess.backend.direct, Timeout: sess.cfg.Connect.Timeout, Patience: sess.cfg.Connect.HedgeAfter, Sockets: sess.cfg.sockets()}
}

// Greeting implements relay.Opener.
func (sess *Session) Greeting() []byte { return sess.header() }

// DialFailed implements relay.Opener.
func (sess *Session) DialFailed(err error, gone bool) relay.Step {
	if queueFull(sess.backend, err) && !gone {
		return relay.Step{Leave: true} // to wait
	}
	if e := sess.dialFailed(err, gone); e.Why != relay.Running {
		return relay.Step{End: e}
	}
	return sess.nextStep()
}

// Dialled implements relay.Opener.
func (sess *Session) Dialled() error {
	if err := sess.connected(); err != nil {
		return err
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.relayed = sess.svc.now()
	return nil
}

// Silent implements relay.Opener.
func (sess *Session) Silent(d relay.Dialling) { sess.trouble().pending = d }

// Left implements relay.Opener: the session goes on in a goroutine.
func (sess *Session) Left(client relay.Conn, err error) {
	sess.mu.Lock()
	sess.handed = false
	if err == nil {
		sess.relay.Ends = &relay.Ends{Client: client}
	}
	killed := sess.killed
	sess.mu.Unlock()
	switch {
	case err != nil:
		if t := sess.troubles; t != nil && t.pending != nil {
			t.pending.Abandon()
		}
		sess.note(innermost(err).Error())
		sess.finish(relay.End{Who: relay.Sluice, Why: relay.Descriptors})
	case killed.Why != relay.Running:
		sess.turnAway(killed)
	default:
		go sess.run()
	}
}
