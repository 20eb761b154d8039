package l4

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// An accept that fails is tried again after pauses that double from the first to the
// last.
const (
	firstAcceptPause = 5 * time.Millisecond
	lastAcceptPause  = time.Second
	shedPatience     = 10 * time.Millisecond // for the client that made the accept fail to be there still
)

// acceptor is one listener's accept loop.
type acceptor struct {
	s      *Service
	ln     net.Listener
	spare  *os.File // a descriptor given up to accept, and close, a client that there is none for
	failed throttle
	pause  time.Duration
}

func newAcceptor(s *Service, ln net.Listener) *acceptor {
	a := &acceptor{s: s, ln: ln}
	a.holdSpare()
	return a
}

// run accepts until the listener is closed.
func (a *acceptor) run() error {
	defer a.dropSpare()
	defer a.failed.stop(func(int64) {})
	for {
		c, err := a.ln.Accept()
		switch {
		case err == nil && !a.holdSpare():
			// Descriptors that are left belong to the spare one first.
			a.s.refuse(c, relay.Descriptors)
			a.holdSpare()
		case err == nil:
			a.pause = 0
			a.s.accepted(c)
		case errors.Is(err, net.ErrClosed):
			return err
		case errors.Is(err, syscall.ECONNABORTED): // that client's own affair
		default:
			a.recover(err)
		}
	}
}

// recover gets over a failed accept: out of descriptors it turns one client away,
// else it waits.
func (a *acceptor) recover(err error) {
	say := func(n int64) {
		a.s.log.Warn("accept failed", "service", a.s.cfg.Name, "listen", a.ln.Addr().String(),
			"error", innermost(err).Error(), "times", n)
	}
	if a.failed.pass(say) {
		say(1)
	}
	if outOfDescriptors(err) && a.shed() {
		return
	}
	a.pause = min(max(2*a.pause, firstAcceptPause), lastAcceptPause)
	select {
	case <-time.After(a.pause):
	case <-a.s.stopping:
	}
}

// shed closes the client at the head of the queue with the help of the spare
// descriptor; false if that did not work. The spare one is given up only for a client
// that is there: while none is, a dial would take it.
func (a *acceptor) shed() bool {
	if a.spare == nil {
		a.holdSpare()
		return false
	}
	if !clientWaits(a.ln) {
		return false
	}
	a.dropSpare()
	defer a.holdSpare()
	l, ok := a.ln.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return false
	}
	l.SetDeadline(time.Now().Add(shedPatience))
	defer l.SetDeadline(time.Time{})
	c, err := a.ln.Accept()
	if err != nil {
		return false
	}
	a.pause = 0
	a.s.refuse(c, relay.Descriptors)
	return true
}

// holdSpare takes the spare descriptor unless it is held; false if there was none to
// take. A system without the device does without.
func (a *acceptor) holdSpare() bool {
	if a.spare != nil {
		return true
	}
	var err error
	a.spare, err = os.Open(os.DevNull)
	return !outOfDescriptors(err)
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (a *acceptor) dropSpare() {
	if a.spare != nil {
		a.spare.Close()
		a.spare = nil
	}
}

// accepted reserves what a new session needs and starts it.
func (s *Service) accepted(c net.Conn) {
	conn, ok := c.(relay.Conn)
	if !ok {
		c.Close()
		s.log.Error("not a stream of bytes", "service", s.cfg.Name, "client", c.RemoteAddr().String())
		return
	}
	if !s.cfg.Descriptors.take(perSession) {
		s.refuse(conn, relay.Descriptors)
		return
	}
	sess, ok := s.begin(conn)
	if !ok {
		s.cfg.Descriptors.give(perSession)
		abort(conn)
		return
	}
	go sess.run()
}

// refuse closes a client for which no session was begun.
func (s *Service) refuse(c net.Conn, why relay.Why) {
	sess := &Session{svc: s, start: time.Now(), client: addrPort(c.RemoteAddr()), peer: "unix"}
	abort(c)
	s.ended[why].Add(1)
	sess.log(relay.End{Who: relay.Sluice, Why: why})
}

// abort closes a connection with a reset: an end of stream would claim that what the
// peer got is all there is.
func abort(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		l.SetLinger(0)
	}
	c.Close()
}
