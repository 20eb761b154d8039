package health

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

const (
	// goodbyeTime and goodbyeBytes bound how long a probe waits for the backend's end of
	// stream after its own. A backend that keeps the connection half-open, as some do by
	// design, costs each probe this time and nothing else.
	goodbyeTime  = 250 * time.Millisecond
	goodbyeBytes = 64 << 10
)

// errItself: on loopback the kernel may give a dial to a dead port in the ephemeral range
// that same port as its own. The connection then is its own peer, answers with what is
// sent to it, and keeps the backend from binding its port again.
var errItself = errors.New("connected to itself: nothing listens there")

// Endpoint is where a probe connects.
type Endpoint struct {
	// Network is "tcp", "tcp4", "tcp6" with Address host:port, or "unix" with a path.
	Network, Address string
	// Preamble is sent right after the connect, before everything else: a PROXY header
	// for backends that demand one. Nil is none. It is shared and must not be changed.
	Preamble []byte
}

// Dial connects as all probes do: never multipath TCP, no keepalive (a probe does not live
// that long), never to itself, and with the preamble sent. Errors name the stage and the
// cause, without the address, wrap [ErrNoVerdict] where the want is ours, and are Unsure
// where the resolver could not be asked for a name. Name lookup included, the context's
// deadline holds.
func (t Endpoint) Dial(ctx context.Context) (net.Conn, error) {
	// The dialer has a guard against connections to itself: it closes and tries again, twice.
	// That close in order would leave the backend's port in TIME_WAIT and so blocked for a
	// minute. Hence a close is a reset until the dial is over.
	d := net.Dialer{KeepAlive: -1, Control: resetOnClose}
	d.SetMultipathTCP(false)
	conn, err := d.DialContext(ctx, t.Network, t.Address)
	if err != nil {
		return nil, &Failure{Step: "connect", Err: t.dialReason(ctx, err), Unsure: unasked(err)}
	}
	if err := t.open(ctx, conn); err != nil {
		return nil, err
	}
	return conn, nil
}

// open makes a fresh connection ready for the probe, or closes it.
func (t Endpoint) open(ctx context.Context, conn net.Conn) error {
	if toItself(conn) {
		abort(conn)
		return errItself
	}
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetLinger(-1) // from here on a close is one in order again
	}
	if len(t.Preamble) == 0 {
		return nil
	}
	defer interruptible(ctx, conn)()
	if _, err := conn.Write(t.Preamble); err != nil {
		conn.Close()
		return Fail(ctx, "preamble", err)
	}
	return nil
}

// dialReason words why a dial failed.
func (t Endpoint) dialReason(ctx context.Context, err error) error {
	// A TCP dial to a full accept queue waits; one to a Unix socket fails at once, with
	// the error of a call that would block.
	if t.Network == "unix" && errors.Is(err, syscall.EAGAIN) {
		return reworded{"accept queue is full", err}
	}
	reason := plain(ctx, err)
	if lookup := (*net.DNSError)(nil); errors.As(err, &lookup) && ctx.Err() != nil {
		reason = reworded{"name lookup: " + reason.Error(), reason}
	}
	if ours(err) {
		return reworded{reason.Error(), errors.Join(ErrNoVerdict, err)}
	}
	return reason
}

// ours says whether a dial failed for want of something on this side: descriptors, ports,
// or memory.
func ours(err error) bool {
	lookup := (*net.DNSError)(nil)
	named := errors.As(err, &lookup)
	for _, want := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		// Of why a lookup failed net keeps the text alone.
		if errors.Is(err, want) || named && strings.HasSuffix(lookup.Err, want.Error()) {
			return true
		}
	}
	return false
}

// unasked says whether a dial failed because nobody could say what address the name has.
// That there is no such name is an answer.
func unasked(err error) bool {
	lookup := (*net.DNSError)(nil)
	return errors.As(err, &lookup) && !lookup.IsNotFound
}

// toItself says whether conn's two ends are the same socket.
func toItself(conn net.Conn) bool {
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	return ok && local.AddrPort() == remote.AddrPort()
}

// abort closes conn with a reset, which leaves no TIME_WAIT on the port.
func abort(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetLinger(0) // if it fails, an ordinary close is still right
	}
	conn.Close()
}

// interruptible makes reads and writes of conn fail once ctx is done, until the returned
// function is called. It takes the place of any deadline set before.
func interruptible(ctx context.Context, conn net.Conn) (release func() bool) {
	conn.SetDeadline(time.Time{})
	return context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// goodbye ends a probe's connection so that the backend reads an end of stream and no
// reset: it sends ours, takes what the backend still has to say (a close with unread bytes
// would be a reset), and closes. What goes wrong meanwhile does not matter to anyone.
func goodbye(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	c, ok := conn.(interface{ CloseWrite() error })
	if !ok || c.CloseWrite() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, goodbyeTime)
	defer cancel()
	defer interruptible(ctx, conn)()
	io.CopyN(io.Discard, conn, goodbyeBytes)
}
