package health

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// testBackend is a server on loopback that does one thing with every connection, and keeps
// how the prober ended each.
type testBackend struct {
	ln    net.Listener
	conns sync.WaitGroup
	ends  chan error // from serve: nil for an end of stream in order
}

// serveTCP starts a backend whose serve gets every connection, and returns its endpoint.
// Connections have a deadline, and are closed when serve returns.
func serveTCP(t *testing.T, serve func(c net.Conn) error) (*testBackend, Endpoint) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, serve), Endpoint{Network: "tcp", Address: ln.Addr().String()}
}

// serveUnix is serveTCP on a Unix socket.
func serveUnix(t *testing.T, serve func(c net.Conn) error) (*testBackend, Endpoint) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, serve), Endpoint{Network: "unix", Address: path}
}

func serveOn(t *testing.T, ln net.Listener, serve func(c net.Conn) error) *testBackend {
	b := &testBackend{ln: ln, ends: make(chan error, 100)}
	b.conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			b.conns.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(5 * time.Second))
				b.ends <- serve(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		b.conns.Wait()
	})
	return b
}

// end returns how the next connection ended.
func (b *testBackend) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-b.ends:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the backend's connection does not end")
		return nil
	}
}

// readAll reads until the end of stream; a reset is an error.
func readAll(c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// probe makes one attempt with the deadline and cause that a member would give it.
func probe(t *testing.T, p Prober, timeout time.Duration) error {
	t.Helper()
	ctx, cancel := withTimeout(t.Context(), timeout)
	defer cancel()
	if c, ok := p.(io.Closer); ok {
		t.Cleanup(func() { c.Close() })
	}
	begin := time.Now()
	err := p.Probe(ctx)
	if late := time.Since(begin) - timeout; late > 2*time.Second {
		t.Errorf("probe returned %v after its deadline", late)
	}
	return err
}

// wantReason checks the text of a probe's error, "" for a pass.
func wantReason(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("probe says %q, want %q", got, want)
	}
}

// deadAddress returns a loopback address where nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// cancelled makes one attempt and cancels it once the backend has the connection.
func cancelled(t *testing.T, p Prober, has <-chan struct{}) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- p.Probe(ctx) }()
	within(t, "the backend to get a connection", has)
	cancel()
	select {
	case err := <-result:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("a cancelled probe does not return")
	}
}
