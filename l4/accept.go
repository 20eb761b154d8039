package l4

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
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

// acceptor is one listener's: what becomes of its clients, and of accepts that fail.
// Several goroutines of an engine may share it.
type acceptor struct {
	s    *Service
	ln   net.Listener
	held atomic.Bool  // the spare descriptor is
	wait atomic.Int64 // the last pause
	dead chan error   // gets the error after which this listener accepts nobody any more

	mu     sync.Mutex // guards the rest
	spare  *os.File   // a descriptor given up to accept, and close, a client that there is none for
	failed throttle
}

func newAcceptor(s *Service, ln net.Listener) *acceptor {
	a := &acceptor{s: s, ln: ln, dead: make(chan error, 1)}
	a.holdSpare()
	return a
}

// run accepts until the service is closing, or the listener is closed by somebody else, or
// is no listener any more: then it returns the error. The engine does it if it can.
func (a *acceptor) run() error {
	defer a.close()
	err := a.front()
	if errors.Is(err, errors.ErrUnsupported) {
		return a.loop()
	}
	return err
}

// loop is the accept loop of engines that have none.
func (a *acceptor) loop() error {
	for {
		c, err := a.ln.Accept()
		switch {
		case err == nil:
			a.accepted(c)
		case errors.Is(err, net.ErrClosed):
			return err
		case errors.Is(err, syscall.ECONNABORTED): // that client's own affair
		default:
			select {
			case <-time.After(a.AcceptFailed(err, queue{a.ln})):
			case <-a.s.stopping:
			}
			select {
			case err := <-a.dead:
				return err
			default:
			}
		}
	}
}

// accepted starts the session of a client.
func (a *acceptor) accepted(c net.Conn) {
	a.wait.Store(0)
	conn, ok := c.(relay.Conn)
	if !ok {
		c.Close()
		a.s.log.Error("not a stream of bytes", "service", a.s.name, "client", c.RemoteAddr().String())
		return
	}
	if sess := a.welcome(netClient{conn}, conn); sess != nil {
		go sess.run()
	}
}

// welcome reserves what a new session needs and begins it. Without that the client is
// turned away. An engine keeps its connection to itself.
func (a *acceptor) welcome(c relay.Arrival, conn relay.Conn) *Session {
	s := a.s
	switch {
	case !a.held.Load() && !a.holdSpare(): // descriptors that are left belong to the spare one first
		s.refuse(c, relay.Descriptors)
		a.holdSpare()
		return nil
	case !s.budget.take(perSession):
		s.refuse(c, relay.Descriptors)
		return nil
	}
	sess, ok := s.begin(c, conn)
	if !ok {
		s.budget.give(perSession)
		c.Reset()
	}
	return sess
}

// AcceptFailed gets over a failed accept: out of descriptors it turns one client away,
// else it returns how long to wait.
func (a *acceptor) AcceptFailed(err error, q relay.Queue) (pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if forGood(err) {
		select {
		case a.dead <- err:
		default: // it is known
		}
		return lastAcceptPause
	}
	say := func(n int64) {
		a.s.log.Warn("accept failed", "service", a.s.name, "listen", a.ln.Addr().String(),
			"error", innermost(err).Error(), "times", n)
	}
	if a.failed.pass(say) {
		say(1)
	}
	if outOfDescriptors(err) && a.shed(q) {
		a.wait.Store(0)
		return 0
	}
	pause = min(max(2*time.Duration(a.wait.Load()), firstAcceptPause), lastAcceptPause)
	a.wait.Store(int64(pause))
	return pause
}

// shed closes the client at the head of the queue with the help of the spare
// descriptor; false if that did not work. The spare one is given up only for a client
// that is there: while none is, a dial would take it. With mu held.
func (a *acceptor) shed(q relay.Queue) bool {
	if a.spare == nil {
		a.takeSpare()
		return false
	}
	if !q.Waits() {
		return false
	}
	a.dropSpare()
	defer a.takeSpare()
	c, err := q.Accept()
	if err != nil {
		return false
	}
	a.s.refuse(c, relay.Descriptors)
	return true
}

// holdSpare takes the spare descriptor unless it is held; false if there was none to
// take. A system without the device does without.
func (a *acceptor) holdSpare() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.takeSpare()
}

func (a *acceptor) takeSpare() bool {
	if a.spare != nil {
		return true
	}
	var err error
	a.spare, err = os.Open(os.DevNull)
	a.held.Store(err == nil)
	return !outOfDescriptors(err)
}

// forGood tells whether an accept failed because the socket listens no more: somebody has
// ended it from outside (shutdown(2), ss -K), or closed it.
func forGood(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EINVAL, syscall.EBADF, syscall.ENOTSOCK, syscall.EOPNOTSUPP} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (a *acceptor) dropSpare() {
	if a.spare != nil {
		a.spare.Close()
		a.spare = nil
		a.held.Store(false)
	}
}

func (a *acceptor) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropSpare()
	a.failed.stop(func(int64) {})
}

// netClient is a client that package net has accepted.
type netClient struct{ net.Conn }

func (c netClient) Peer() netip.AddrPort       { return addrPort(c.RemoteAddr()) }
func (c netClient) Local() netip.AddrPort      { return addrPort(c.LocalAddr()) }
func (c netClient) Reset()                     { abort(c.Conn) }
func (c netClient) Leave() (relay.Conn, error) { return nil, errors.ErrUnsupported }

// queue is the one of a listener of package net.
type queue struct{ ln net.Listener }

func (q queue) Waits() bool { return clientWaits(q.ln) }

// Accept does not wait for long.
func (q queue) Accept() (relay.Arrival, error) {
	l, ok := q.ln.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return nil, errors.ErrUnsupported
	}
	l.SetDeadline(time.Now().Add(shedPatience))
	defer l.SetDeadline(time.Time{})
	c, err := q.ln.Accept()
	if err != nil {
		return nil, err
	}
	return netClient{c}, nil
}

// refuse turns away a client for which no session was begun.
func (s *Service) refuse(c relay.Arrival, why relay.Why) {
	sess := &Session{svc: s, cfg: s.cfg(), start: s.now(), client: c.Peer()}
	c.Reset()
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
