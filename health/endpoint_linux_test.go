package health

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// dialItself connects to a dead port from that port, which makes the socket its own peer.
// The kernel does the same by chance when it picks that port for a dial.
func dialItself(t *testing.T, d net.Dialer) (conn net.Conn, addr string) {
	t.Helper()
	addr = deadAddress(t)
	local, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	d.LocalAddr = local
	conn, err = d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return conn, addr
}

// wantFree checks that a backend could bind addr now, also one that sets no SO_REUSEADDR.
func wantFree(t *testing.T, addr string) {
	t.Helper()
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		cerr := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		})
		return errors.Join(cerr, err)
	}}
	ln, err := lc.Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatalf("the port is not free again: %v", err)
	}
	ln.Close()
}

func TestConnectionToItselfIsSeenAndLeavesThePortFree(t *testing.T) {
	for range 5 {
		conn, addr := dialItself(t, net.Dialer{})
		wantReason(t, Endpoint{}.open(t.Context(), conn), "connected to itself: nothing listens there")
		wantFree(t, addr)
	}
}

func TestConnectionToItselfThatTheDialerClosesLeavesThePortFree(t *testing.T) {
	conn, addr := dialItself(t, net.Dialer{Control: resetOnClose})
	conn.Close() // as the guard in net does, without a word
	wantFree(t, addr)
}

func TestOrdinaryConnectionsAreNotToThemselves(t *testing.T) {
	networks(t, func(t *testing.T, serve func(*testing.T, func(net.Conn) error) (*testBackend, Endpoint)) {
		_, endpoint := serve(t, readAll)
		conn, err := endpoint.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if toItself(conn) {
			t.Errorf("%v to %v is taken for a connection to itself", conn.LocalAddr(), conn.RemoteAddr())
		}
	})
}

// freeze makes ln a process that accepts nothing, with its accept queue full.
func freeze(t *testing.T, ln interface {
	net.Listener
	syscall.Conn
}) {
	t.Helper()
	raw, err := ln.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var lerr error
	err = raw.Control(func(fd uintptr) { lerr = syscall.Listen(int(fd), 0) })
	if err = errors.Join(err, lerr); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		conn, err := (&net.Dialer{}).DialContext(ctx, ln.Addr().Network(), ln.Addr().String())
		cancel()
		if err != nil {
			return
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("ten connections do not fill an accept queue of none")
}

func TestFullAcceptQueueOfAFrozenBackendFails(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		freeze(t, ln.(*net.TCPListener))
		p := TCP(Endpoint{Network: "tcp", Address: ln.Addr().String()})
		wantReason(t, probe(t, p, 250*time.Millisecond), "connect: no answer within 250ms")
	})
	t.Run("unix", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		freeze(t, ln.(*net.UnixListener))
		p := TCP(Endpoint{Network: "unix", Address: path})
		wantReason(t, probe(t, p, 250*time.Millisecond), "connect: accept queue is full")
	})
}

func TestProbesOnLinuxUsePlainTCP(t *testing.T) {
	_, endpoint := serveTCP(t, readAll)
	conn, err := endpoint.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if multipath, err := conn.(*net.TCPConn).MultipathTCP(); multipath || err != nil {
		t.Errorf("multipath %v, %v", multipath, err)
	}
}

// socketsTo counts this process's sockets that are connected to address, or are to be. Others are
// no business of a test's: what earlier ones leave may be closed meanwhile.
func socketsTo(t *testing.T, address string) (n int) {
	t.Helper()
	want := netip.MustParseAddrPort(address)
	limit := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for fd := range int(min(limit.Cur, 4096)) {
		peer, err := syscall.Getpeername(fd)
		if v4, ok := peer.(*syscall.SockaddrInet4); err == nil && ok && netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), uint16(v4.Port)) == want {
			n++
		}
	}
	return n
}

func TestProbesLeaveNoDescriptorWhenTheyAreClosed(t *testing.T) {
	// Backends of another process would be fairer, so those here hold no socket of a
	// connection: they are frozen with room in the queue, or not there.
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, address := range []string{mute.Addr().String(), deadAddress(t)} {
		endpoint := Endpoint{Network: "tcp", Address: address}
		web, err := NewHTTP(endpoint, HTTP{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			p := TCP(endpoint)
			for range 3 {
				probe(t, p, 20*time.Millisecond)
				if n := socketsTo(t, address); n > 1 { // one may say goodbye until the next probe
					t.Fatalf("%d sockets", n)
				}
			}
			p.(io.Closer).Close()
			probe(t, web, 20*time.Millisecond)
			if n := socketsTo(t, address); n != 0 {
				t.Fatalf("%d sockets", n)
			}
		}
	}
}

func TestProbesOfAFrozenBackendHoldOneSocketAtATime(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	web, err := NewHTTP(Endpoint{Network: "tcp", Address: mute.Addr().String()}, HTTP{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config()
	cfg.Interval, cfg.Timeout, cfg.Fall = time.Millisecond, 20*time.Millisecond, 1000
	most := 0
	enough := make(chan struct{})
	probes := 0
	m := newMonitor(t, cfg)
	m.Add(proberFunc(func(ctx context.Context) error {
		err := web.Probe(ctx)
		most = max(most, socketsTo(t, mute.Addr().String()))
		if probes++; probes == 20 {
			close(enough)
		}
		return err
	}), newGate())
	within(t, "20 probes", enough)
	m.Close()
	if n := socketsTo(t, mute.Addr().String()); most != 0 || n != 0 {
		t.Errorf("up to %d sockets between probes, %d after Close; want none", most, n)
	}
}
