package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// patience bounds everything a test waits for.
const patience = 30 * time.Second

// The two records most tests expect.
var (
	killed  = End{Operator, Killed}
	drained = End{Operator, Drain}
)

type engineCase struct {
	name string
	make func() Engine
}

// engines lists what every behaviour is tested on.
func engines() []engineCase {
	return append([]engineCase{
		{"portable", func() Engine { return &Portable{} }},
		{"portable without pipes", func() Engine { return &Portable{MaxPipes: -1} }},
	}, systemEngines()...)
}

// forEachEngine runs f as a subtest for every engine, and afterwards checks that the
// engine has nothing left to wait for.
func forEachEngine(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	for _, c := range engines() {
		t.Run(c.name, func(t *testing.T) {
			e := c.make()
			t.Cleanup(func() {
				within(t, "Wait to return", e.Wait)
				within(t, "Close to return", e.Close)
			})
			f(t, e)
		})
	}
}

// within fails the test if f takes longer than patience.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	result(t, what, async(func() bool { f(); return true }))
}

func async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

func result[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// eventually polls until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-tick.C
	}
}

// paced calls f n times, once every interval.
func paced(every time.Duration, n int, f func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range n {
		<-tick.C
		f()
	}
}

// keepPace is paced for what must keep a session from reaching a limit. It returns false
// if the machine, and not f, took so long that the session was right to end.
func keepPace(t *testing.T, limit, every time.Duration, n int, f func() error) (fair bool) {
	t.Helper()
	var failed error
	var late time.Duration
	last := time.Now()
	paced(every, n, func() {
		if failed != nil {
			return
		}
		began := time.Now()
		failed = f()
		late = time.Since(last)
		last = began
	})
	if failed != nil && late < limit {
		t.Fatal(failed)
	}
	return failed == nil
}

// untilFair tries again what the machine has held up.
func untilFair(t *testing.T, try func() (fair bool)) {
	t.Helper()
	for range 5 {
		if try() {
			return
		}
	}
	t.Error("the machine never kept within the limit")
}

// setup says how a session of a test differs from the plain one.
type setup struct {
	client, backend string // "tcp" or "unix"; "" is tcp
	limits          Limits
	pending         []byte
	readBuffer      int                        // SO_RCVBUF of the far ends; 0 is the system's
	before          func(client, backend Conn) // what the far ends do before Start
	atStart         func(client, backend Conn) // what the relay's ends get before Start
}

// link is a session and its far ends, which the test plays.
type link struct {
	*Session
	client, backend Conn
	ends            chan End // with room for one end too many
	end             *End
}

func (l *link) RelayEnded(e End) { l.ends <- e }

// start relays a new session. When the test is over, both far ends are closed, and
// the session must then end by itself.
func start(t testing.TB, e Engine, s setup) *link {
	t.Helper()
	l := &link{ends: make(chan End, 2)}
	nearClient, farClient := pair(t, s.client)
	farBackend, nearBackend := pair(t, s.backend)
	l.client, l.backend = farClient, farBackend
	for _, c := range []Conn{farClient, farBackend} {
		c.SetDeadline(time.Now().Add(patience))
		if s.readBuffer > 0 {
			c.(interface{ SetReadBuffer(int) error }).SetReadBuffer(s.readBuffer)
		}
	}
	l.Session = &Session{Ends: &Ends{Client: nearClient, Backend: nearBackend, Pending: s.pending}, Limits: &s.limits, Owner: l}
	if s.before != nil {
		s.before(l.client, l.backend)
	}
	if s.atStart != nil {
		s.atStart(nearClient, nearBackend)
	}
	e.Start(l.Session)
	t.Cleanup(func() {
		l.client.Close()
		l.backend.Close()
		l.wait(t)
		e.Kill(l.Session, drained) // an ended session does not end again
		for _, c := range []Conn{nearClient, nearBackend} {
			if !isClosed(c) {
				t.Error("the session ended with an open connection")
			}
		}
		if len(l.ends) > 0 {
			t.Errorf("RelayEnded called again, with %v", <-l.ends)
		}
	})
	return l
}

// wait returns how the session ended.
func (l *link) wait(t testing.TB) End {
	t.Helper()
	if l.end == nil {
		e := result(t, "the session's end", l.ends)
		l.end = &e
	}
	return *l.end
}

func (l *link) expectEnd(t testing.TB, want End) {
	t.Helper()
	if got := l.wait(t); got != want {
		t.Errorf("ended by %v, want %v", got, want)
	}
}

func (l *link) expectMoved(t testing.TB, toBackend, toClient int64) {
	t.Helper()
	if up, down := l.Moved(ToBackend), l.Moved(ToClient); up != toBackend || down != toClient {
		t.Errorf("moved %d to the backend and %d to the client, want %d and %d", up, down, toBackend, toClient)
	}
}

// side is a session seen from one of its far ends.
type side struct {
	near, far  Conn // the end that acts and the one that hears of it
	who, other Who
	dir        Direction // of what near sends
}

// side returns the session seen from one of its ends, so that a test of the client is
// a test of the backend too.
func (l *link) side(who Who) side {
	if who == Client {
		return side{l.client, l.backend, Client, Backend, ToBackend}
	}
	return side{l.backend, l.client, Backend, Client, ToClient}
}

// forEachSide runs f on every engine with the client and then the backend as the one that acts.
func forEachSide(t *testing.T, f func(t *testing.T, e Engine, who Who)) {
	t.Helper()
	forEachEngine(t, func(t *testing.T, e Engine) {
		for _, who := range []Who{Client, Backend} {
			t.Run(who.String(), func(t *testing.T) { f(t, e, who) })
		}
	})
}

func isClosed(c Conn) bool {
	raw, err := c.SyscallConn()
	return err != nil || errors.Is(raw.Control(func(uintptr) {}), net.ErrClosed)
}

// pair returns two ends of one connection.
func pair(t testing.TB, network string) (a, b Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "relay")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		address = filepath.Join(dir, "s")
	} else {
		network = "tcp"
	}
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	ln, err := config.Listen(context.Background(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dialed, err := net.Dial(network, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return accepted.(Conn), dialed.(Conn)
}

// resetClose closes a TCP connection with a reset.
func resetClose(c Conn) {
	resetOnClose(c)
	c.Close()
}

// flow is an endless stream of bytes known to both ends.
type flow struct{ block []byte }

var up, down = newFlow(1), newFlow(2)

func newFlow(seed byte) flow {
	f := flow{make([]byte, 1<<20-3)} // in step with no buffer
	rand.NewChaCha8([32]byte{seed}).Read(f.block)
	return f
}

// at returns bytes of the flow from off on, at most n.
func (f flow) at(off int64, n int) []byte {
	b := f.block[off%int64(len(f.block)):]
	return b[:min(n, len(b))]
}

// from returns the flow without its first off bytes.
func (f flow) from(off int64) flow {
	off %= int64(len(f.block))
	return flow{slices.Concat(f.block[off:], f.block[:off])}
}

// flowOf returns what goes in a direction.
func flowOf(d Direction) flow {
	if d == ToBackend {
		return up
	}
	return down
}

// send writes n bytes of the flow from off on, in pieces of at most chunk.
func (f flow) send(w io.Writer, off, n int64, chunk int) error {
	for end := off + n; off < end; {
		b := f.at(off, int(min(int64(chunk), end-off)))
		if _, err := w.Write(b); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return nil
}

// expect reads n bytes and compares them with the flow from off on.
func (f flow) expect(r io.Reader, off, n int64) error {
	buf := make([]byte, 64<<10)
	for end := off + n; off < end; {
		want := f.at(off, int(min(int64(len(buf)), end-off)))
		if _, err := io.ReadFull(r, buf[:len(want)]); err != nil {
			return err
		}
		if !bytes.Equal(buf[:len(want)], want) {
			return fmt.Errorf("wrong bytes in %d..%d", off, off+int64(len(want)))
		}
		off += int64(len(want))
	}
	return nil
}

// seen is what one end got: so many right bytes, then an end of some kind.
type seen struct {
	n   int64
	end string
}

// drain reads to the end, in pieces of at most chunk, and compares with the flow
// from its start on.
func (f flow) drain(r io.Reader, chunk int) (s seen) {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		for got := buf[:n]; len(got) > 0; {
			want := f.at(s.n, len(got))
			if !bytes.Equal(got[:len(want)], want) {
				return seen{s.n, "wrong bytes"}
			}
			got = got[len(want):]
			s.n += int64(len(want))
		}
		if err != nil {
			return seen{s.n, kind(err)}
		}
	}
}

// kind names the end that an error stands for.
func kind(err error) string {
	switch {
	case err == nil:
		return "none"
	case err == io.EOF:
		return "eof"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, syscall.EPIPE):
		return "pipe"
	}
	return err.Error()
}

func expectSeen(t testing.TB, who string, got, want seen) {
	t.Helper()
	if got != want {
		t.Errorf("the %s saw %d bytes and %q, want %d and %q", who, got.n, got.end, want.n, want.end)
	}
}

// settle waits until all that c sent is with the system at the other end, so that a
// reset cannot overtake it.
func settle(t testing.TB, c Conn) {
	t.Helper()
	eventually(t, "bytes to be acknowledged", func() bool {
		n, known := unacknowledged(c)
		switch {
		case !known && runtime.GOOS == "linux":
			t.Fatal("Linux tells what is acknowledged")
		case !known:
			t.Skip("this system does not tell what is acknowledged")
		}
		return n == 0
	})
}

// clog writes until the path is full, or so it seems: until it has taken nothing for
// a while. It returns how much it took.
func clog(t testing.TB, c Conn, f flow) (n int64) {
	t.Helper()
	defer c.SetWriteDeadline(time.Now().Add(patience))
	for {
		c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		m, err := c.Write(f.at(n, 64<<10))
		n += int64(m)
		switch {
		case err == nil || errors.Is(err, os.ErrDeadlineExceeded) && m > 0:
		case errors.Is(err, os.ErrDeadlineExceeded):
			return n
		default:
			t.Fatal(err)
		}
	}
}
