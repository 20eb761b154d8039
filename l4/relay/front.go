package relay

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// ErrSelf is a dial that met itself: nothing listens there, and the system gave the
// dialling end the very port.
var ErrSelf = errors.New("relay: connected to itself: nothing listens there")

// Front is an Engine that also accepts clients and connects their sessions, which then
// need no goroutine and no hand-over. What a session does before it is relayed is said
// by its Opener.
type Front interface {
	Engine
	// Listen accepts clients of ln, on a duplicate of its descriptor, until the
	// Listening is closed. The caller is to close ln at once: package net would go on
	// hearing of every client. The error wraps errors.ErrUnsupported for what is not a
	// listening TCP or Unix socket.
	Listen(ln syscall.Conn, o Sockets, r Reception) (Listening, error)
}

// Listening is a listener that an engine accepts from.
type Listening interface {
	// Close returns when no client is accepted any more. Those in the system's queue
	// are reset. It is not to be called from a Reception or an Owner.
	Close()
	// File returns a duplicate of the socket's descriptor. While it is open, Close resets
	// nobody: clients wait for whoever accepts from it.
	File() (*os.File, error)
}

// Sockets are options of a session's TCP sockets. TCP_NODELAY is always set.
type Sockets struct {
	KeepAlive time.Duration // keepalive's idle time and interval, in whole seconds; zero or less: off
	Probes    int           // of keepalive that may go unanswered
	User      time.Duration // TCP_USER_TIMEOUT in whole milliseconds; zero or less: the system's
}

// Reception hears of clients, from several goroutines. None of its methods may wait.
type Reception interface {
	// Accepted returns the session that begins with a client: its Owner is an Opener.
	// A client for whom it returns nil is reset, unless it has left.
	Accepted(Arrival) *Session
	// AcceptFailed is told of an error, and returns for how long not to accept.
	AcceptFailed(err error, q Queue) (pause time.Duration)
	// OptionFailed is told that one of the Sockets' options could not be set.
	OptionFailed(err error)
}

// Arrival is an accepted client, as long as the Reception's method lasts.
type Arrival interface {
	Peer() netip.AddrPort  // invalid over a Unix socket
	Local() netip.AddrPort // what the client connected to; invalid likewise
	// Reset turns the client away.
	Reset()
	// Leave takes the client away from the engine. After an error it has been reset.
	Leave() (Conn, error)
}

// Queue is where clients wait to be accepted.
type Queue interface {
	Waits() bool // a client is there
	Accept() (Arrival, error)
}

// Opener is the Owner of a session that an engine accepted: it says where it goes. The
// engine calls one method at a time, from its own goroutine. None may wait.
type Opener interface {
	Owner
	// Open returns the first step. From now on the engine may be asked to kill the
	// session.
	Open() Step
	// Greeting returns what a backend that was connected is to be sent before any
	// payload, if anything. It is not counted.
	Greeting() []byte
	// DialFailed is told why the last step's dial failed, and whether the client is
	// gone, and returns the next step.
	DialFailed(err error, gone bool) Step
	// Dialled is told that the dial succeeded: the relay begins. An error makes it a dial
	// that failed after all.
	Dialled() error
	// Silent gets a dial that has not been answered in its step's Patience, to go on with;
	// Left follows.
	Silent(Dialling)
	// Left gets the client back after a step that leaves. After an error it has been
	// reset. The session may be given to Start again, unless the engine was asked to kill
	// it.
	Left(client Conn, err error)
}

// Step is what a session does next: it dials To, or leaves the engine, or ends.
type Step struct {
	To      *Address
	Timeout time.Duration // of the dial; zero or less: the system's
	// Patience is for how long the dial may be unanswered before the session leaves the
	// engine with it; zero or less, and what is not below Timeout: it never does.
	Patience time.Duration
	Sockets  Sockets // of the dial
	Leave    bool
	End      End // without To and Leave
}

// Dialling is a dial under way that an engine has let go of. One of its methods is to be
// called, once.
type Dialling interface {
	// Wait returns the connection, or why there is none, or ctx's error.
	Wait(ctx context.Context) (Conn, error)
	Abandon()
}

// Address is where a step dials to.
type Address struct {
	ip   netip.AddrPort
	path string // of a Unix socket, if ip is invalid
	raw  rawAddress
}

// NewAddress returns the address of a network that package net names, "tcp" or "unix".
// It returns nil if it would have to be looked up: a name, or an IPv6 zone.
func NewAddress(network, address string) *Address {
	a := &Address{}
	if network == "unix" {
		a.path = address
	} else {
		ip, err := netip.ParseAddrPort(address)
		if err != nil || ip.Addr().Zone() != "" {
			return nil
		}
		a.ip = netip.AddrPortFrom(ip.Addr().Unmap(), ip.Port())
	}
	if !a.raw.set(a.ip, a.path) {
		return nil
	}
	return a
}

func (a *Address) String() string {
	if a.ip.IsValid() {
		return a.ip.String()
	}
	return a.path
}
