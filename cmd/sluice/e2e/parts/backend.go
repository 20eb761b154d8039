//go:build linux

package parts

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Backend is a scripted TCP server in the test's own process.
type Backend struct {
	Addr string
	// Accepted counts the connections so far, Active those that are open, and Peak is the highest Active.
	Accepted, Active, Peak atomic.Int64

	ln     net.Listener
	handle func(net.Conn)
	wg     sync.WaitGroup
	mu     sync.Mutex
	conns  map[net.Conn]bool
}

// Serve runs handle for every connection to a free loopback port, each in a goroutine of its own. The connection has
// a deadline of a minute and is closed when handle returns.
func Serve(t testing.TB, handle func(net.Conn)) *Backend {
	t.Helper()
	return ServeAt(t, "127.0.0.1:0", handle)
}

// ServeAt is Serve on an address of the caller's choice.
func ServeAt(t testing.TB, addr string, handle func(net.Conn)) *Backend {
	t.Helper()
	b := &Backend{handle: handle, conns: map[net.Conn]bool{}}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	b.Addr = ln.Addr().String()
	b.start(ln)
	t.Cleanup(b.Close)
	return b
}

func (b *Backend) start(ln net.Listener) {
	b.ln = ln
	b.wg.Add(1)
	go b.accept(ln)
}

func (b *Backend) accept(ln net.Listener) {
	defer b.wg.Done()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		b.Accepted.Add(1)
		b.mu.Lock()
		b.conns[c] = true
		b.mu.Unlock()
		b.wg.Add(1)
		go b.serve(c)
	}
}

func (b *Backend) serve(c net.Conn) {
	defer b.wg.Done()
	now := b.Active.Add(1)
	for peak := b.Peak.Load(); now > peak && !b.Peak.CompareAndSwap(peak, now); peak = b.Peak.Load() {
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	b.handle(c)
	b.Active.Add(-1)
	_ = c.Close()
	b.mu.Lock()
	delete(b.conns, c)
	b.mu.Unlock()
}

// StopAccepting closes the listener: connections are refused from now on, those that are open live on.
func (b *Backend) StopAccepting() { _ = b.ln.Close() }

// Close is the end of the process as its peers see it: the listener and every connection close.
func (b *Backend) Close() {
	b.StopAccepting()
	b.mu.Lock()
	for c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

// Reopen listens again on the same address.
func (b *Backend) Reopen(t testing.TB) {
	t.Helper()
	var ln net.Listener
	Eventually(t, Patience, "listen again on "+b.Addr, func() bool {
		var err error
		ln, err = net.Listen("tcp", b.Addr)
		return err == nil
	})
	b.start(ln)
}

// Echo sends back what it gets until the end of the stream, and then ends its own.
func Echo(c net.Conn) { _, _ = io.Copy(c, c) }

// Greet returns a handler that sends name and a newline, and then echoes.
func Greet(name string) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := fmt.Fprintln(c, name); err == nil {
			Echo(c)
		}
	}
}

// Reset closes c so that the peer gets a reset.
func Reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// RefusedAddr returns an address where connection attempts are refused for as long as the test runs: its port is bound,
// so that nobody listens there and no dial is given it for its own end.
func RefusedAddr(t testing.TB) string {
	t.Helper()
	return bound(t, func(int) error { return nil })
}

// bound returns the address of a bound socket, to which something is done.
func bound(t testing.TB, do func(fd int) error) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := do(fd); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}

// Blackhole returns an address whose connection attempts get no answer at all: the queue of its listener is full and
// stays so.
func Blackhole(t testing.TB) string {
	t.Helper()
	addr := bound(t, func(fd int) error { return syscall.Listen(fd, 0) })
	fill(t, addr)
	return addr
}

// LateAccept returns an address whose connection attempts get no answer, as at a Blackhole, until accept is called:
// then it serves them with handle.
func LateAccept(t testing.TB, handle func(net.Conn)) (addr string, accept func()) {
	t.Helper()
	var ln net.Listener
	addr = bound(t, func(fd int) error {
		if err := syscall.Listen(fd, 0); err != nil {
			return err
		}
		again, err := syscall.Dup(fd) // bound closes the first
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(again), "listener")
		defer file.Close()
		ln, err = net.FileListener(file)
		return err
	})
	fill(t, addr)
	b := &Backend{Addr: addr, handle: handle, conns: map[net.Conn]bool{}, ln: ln}
	t.Cleanup(b.Close)
	return addr, func() { b.start(ln) }
}

// fill takes all places in the queue of a listener.
func fill(t testing.TB, addr string) {
	t.Helper()
	for range 8 {
		c, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("a full accept queue still answers: tcp_abort_on_overflow must be 0")
}
