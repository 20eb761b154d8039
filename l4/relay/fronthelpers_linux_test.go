package relay

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// front is a Reception under test: what its sessions do is the test's.
type front struct {
	t         *testing.T
	e         *Loops
	listening Listening
	address   string
	opener    func() *opener // nil: turn clients away

	mu      sync.Mutex
	openers []*opener
	notSet  []error
}

// opener records what its session's engine says.
type opener struct {
	*Session
	steps    []Step // Open's, then those after failed dials
	greeting string
	leave    bool // at once

	e       *Loops
	legs    [2]fdLeg // when the relay began
	opened  atomic.Bool
	dialled atomic.Bool
	failed  chan error
	left    chan Conn
	silent  chan Dialling
	ends    chan End
}

func (o *opener) Open() Step {
	o.opened.Store(true)
	return o.step()
}

func (o *opener) step() Step {
	if len(o.steps) == 0 {
		return Step{End: End{Sluice, ConnectFailed}}
	}
	next := o.steps[0]
	o.steps = o.steps[1:]
	return next
}

func (o *opener) Greeting() []byte { return []byte(o.greeting) }
func (o *opener) RelayEnded(e End) { o.ends <- e }

func (o *opener) Dialled() error {
	o.legs = o.e.loops[o.loop].record(o.slot).legs
	o.dialled.Store(true)
	return nil
}

func (o *opener) DialFailed(err error, _ bool) Step {
	o.failed <- err
	return o.step()
}

func (o *opener) Left(c Conn, err error) {
	if err != nil {
		panic(err)
	}
	o.left <- c
}

func (f *front) Accepted(a Arrival) *Session {
	if f.opener == nil {
		return nil
	}
	o := f.opener()
	o.Session, o.e = &Session{Owner: o}, f.e
	o.failed, o.left, o.ends = make(chan error, 10), make(chan Conn, 1), make(chan End, 2)
	o.silent = make(chan Dialling, 1)
	f.mu.Lock()
	f.openers = append(f.openers, o)
	f.mu.Unlock()
	if o.leave {
		o.Left(a.Leave())
		return nil
	}
	return o.Session
}

func (f *front) AcceptFailed(err error, _ Queue) time.Duration {
	f.t.Errorf("accept failed: %v", err)
	return time.Second
}

func (f *front) OptionFailed(err error) { f.notSet = append(f.notSet, err) }

// last waits for the newest of n sessions.
func (f *front) last(n int) *opener {
	f.t.Helper()
	var o *opener
	eventually(f.t, "the session to begin", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.openers) == n {
			o = f.openers[n-1]
		}
		return o != nil
	})
	return o
}

// receive has an engine accept on a free port.
func receive(t *testing.T, o Sockets, make func() *opener) *front {
	t.Helper()
	f := &front{t: t, e: newLoops(t, LoopsConfig{Loops: 2}), opener: make}
	f.listen(o)
	t.Cleanup(func() { within(t, "the listening to close", f.listening.Close) })
	return f
}

// listen has the engine accept on another port.
func (f *front) listen(o Sockets) {
	f.t.Helper()
	ln := freePort(f.t)
	f.address = ln.Addr().String()
	var err error
	if f.listening, err = f.e.Listen(ln, o, f); err != nil {
		f.t.Fatal(err)
	}
	ln.Close()
}

// freePort listens without multipath TCP.
func freePort(t *testing.T) *net.TCPListener {
	t.Helper()
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	ln, err := c.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln.(*net.TCPListener)
}

func (f *front) connect() Conn {
	f.t.Helper()
	c, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	f.t.Cleanup(func() { c.Close() })
	return c.(Conn)
}

// expectTurnedAway wants a reset, which may come so early that the connect fails of it.
func (f *front) expectTurnedAway() {
	f.t.Helper()
	c, err := net.Dial("tcp", f.address)
	if err == nil {
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		_, err = c.Read(make([]byte, 1))
	}
	if kind(err) != "reset" {
		f.t.Errorf("the client saw %v", err)
	}
}

// listener is a backend that the test plays.
func listener(t *testing.T) (*net.TCPListener, *Address) {
	t.Helper()
	ln := freePort(t)
	t.Cleanup(func() { ln.Close() })
	return ln, NewAddress("tcp", ln.Addr().String())
}

func accepted(t *testing.T, ln *net.TCPListener) Conn {
	t.Helper()
	ln.SetDeadline(time.Now().Add(patience))
	c, err := ln.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c
}

// refusing is an address where nobody listens, and nobody will while the test runs.
func refusing(t *testing.T) *Address {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	return NewAddress("tcp", localAddress(int32(fd)).String())
}

func (o *opener) Silent(d Dialling) { o.silent <- d }
