package l4

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// dialFailure is the closed list of what can fail in a dial, for counters.
type dialFailure uint8

const (
	dialRefused     dialFailure = iota
	dialTimeout                 // no answer within connect.timeout
	dialUnreachable             // no route to it
	dialReset                   // it accepted and reset at once, before the session began
	dialSelf                    // nothing listens there: the connection met itself
	dialName                    // its name does not exist, or nobody answered what it is
	dialResolver                // its name could not be asked for
	dialDescriptors             // this process is out of descriptors
	dialPorts                   // this machine is out of ports towards it
	dialWithdrawn               // it was taken out of use before the session could begin
	dialCancelled               // the session or the service was ended meanwhile
	dialOther

	numDialFailures
)

var dialFailureNames = [numDialFailures]string{
	"refused", "timeout", "unreachable", "reset", "self", "name", "resolver", "descriptors", "ports", "withdrawn", "cancelled",
	"other",
}

func (f dialFailure) String() string { return dialFailureNames[f] }

// ours tells whether the failure says nothing of the backend.
func (f dialFailure) ours() bool {
	return f == dialResolver || f == dialDescriptors || f == dialPorts || f == dialWithdrawn || f == dialCancelled
}

// dialFault is a failed dial.
type dialFault struct {
	kind  dialFailure
	text  string
	began time.Time
}

// dial connects to b and sends it the PROXY header, if one is to be sent.
func (sess *Session) dial(ctx context.Context, b *Backend) (relay.Conn, error) {
	conn, err := sess.connectTo(ctx, b)
	if err != nil {
		return nil, err
	}
	return sess.greet(conn)
}

// finishDial is dial for what an engine has begun.
func (sess *Session) finishDial(ctx context.Context, d relay.Dialling, began time.Duration) (relay.Conn, error) {
	if limit := sess.cfg.Connect.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit-(sess.svc.now()-began), os.ErrDeadlineExceeded)
		defer cancel()
	}
	conn, err := d.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return sess.greet(conn)
}

// greet sends a backend that was connected what it gets first.
func (sess *Session) greet(conn relay.Conn) (relay.Conn, error) {
	if err := sess.sendHeader(conn, sess.header()); err != nil {
		abort(conn)
		return nil, err
	}
	return conn, nil
}

// blame counts a failed dial to b, and tells b's observer unless it says nothing of b.
func (b *Backend) blame(f *dialFault) {
	b.failed[f.kind].Add(1)
	if !f.kind.ours() {
		b.falls.Add(1)
		b.hear().DialFailed(f.began, f.text)
	}
}

// newDialer makes what connects to backends. A connection that met itself is closed
// and tried again by package net: beforeConnect has that close leave no TIME_WAIT,
// which would keep the backend from its port. connectTo ends the provision.
func newDialer(c ConnectConfig) net.Dialer {
	d := net.Dialer{Timeout: c.Timeout, KeepAlive: -1, Control: beforeConnect}
	d.SetMultipathTCP(false)
	return d
}

// queuePause is after how long a full queue is tried again.
const queuePause = 20 * time.Millisecond

// queueFull tells whether a dial failed because b's queue is full: over TCP the system
// waits for room, over a Unix socket it leaves that to us.
func queueFull(b *Backend, err error) bool {
	return b.network == "unix" && errors.Is(err, syscall.EAGAIN)
}

func (sess *Session) connectTo(ctx context.Context, b *Backend) (relay.Conn, error) {
	c, err := sess.cfg.dialer.DialContext(ctx, b.network, b.address)
	for began := time.Now(); queueFull(b, err); {
		if d := sess.cfg.Connect.Timeout; d > 0 && time.Since(began) >= d {
			return nil, os.ErrDeadlineExceeded
		}
		select {
		case <-time.After(queuePause):
		case <-ctx.Done():
		}
		c, err = sess.cfg.dialer.DialContext(ctx, b.network, b.address)
	}
	if err != nil {
		return nil, err
	}
	conn, ok := c.(relay.Conn)
	if !ok {
		c.Close()
		return nil, net.UnknownNetworkError(b.network)
	}
	if local := addrPort(conn.LocalAddr()); local.IsValid() && local == addrPort(conn.RemoteAddr()) {
		abort(conn)
		return nil, relay.ErrSelf
	}
	if t, ok := conn.(*net.TCPConn); ok {
		t.SetLinger(-1) // fails only if the connection is lost already
	}
	sess.tune(conn)
	return conn, nil
}

// header returns the PROXY header that the session's backend gets; nil for none.
func (sess *Session) header() []byte {
	version := sess.cfg.Proxy.Send
	if version == 0 {
		return nil
	}
	return proxyHeader(version, sess.client, *sess.local)
}

// sendHeader writes the PROXY header at once, whatever the client does.
func (sess *Session) sendHeader(conn relay.Conn, header []byte) error {
	if len(header) == 0 {
		return nil
	}
	if d := sess.cfg.Connect.Timeout; d > 0 {
		conn.SetWriteDeadline(time.Now().Add(d))
		defer conn.SetWriteDeadline(time.Time{})
	}
	_, err := conn.Write(header)
	return err
}

// faultOf classifies the error of a dial.
func (sess *Session) faultOf(err error) *dialFault {
	var dns *net.DNSError
	var timeout net.Error
	var errno syscall.Errno
	f := &dialFault{kind: dialOther, text: innermost(err).Error()}
	switch {
	case sess.svc.ctx.Err() != nil || errors.Is(err, context.Canceled):
		f.kind = dialCancelled
	case errors.Is(err, errWithdrawn):
		f.kind = dialWithdrawn
	case errors.Is(err, relay.ErrSelf):
		f.kind = dialSelf
	case errors.As(err, &dns) && !dns.IsNotFound && !dns.IsTimeout:
		f.kind, f.text = dialResolver, dns.Error()
	case dns != nil:
		f.kind, f.text = dialName, dns.Error()
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		f.kind = dialRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		f.kind = dialReset
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.kind = dialDescriptors
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		f.kind = dialPorts
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		f.kind = dialUnreachable
	case errors.As(err, &timeout) && timeout.Timeout():
		f.kind = dialTimeout
		if !errors.As(err, &errno) { // by our own clock
			f.text = "no answer within " + sess.cfg.Connect.Timeout.String()
		}
	}
	return f
}

// innermost returns the error at the bottom of a chain: the addresses that package
// net wraps around it are known to whoever reads the log.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
