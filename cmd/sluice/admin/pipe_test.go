package admin

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
)

// pipeListener is a listener without a network, for a bubble of synctest.
type pipeListener struct {
	address net.Addr
	conns   chan net.Conn
	stop    sync.Once
	done    chan struct{}
}

func pipes(address net.Addr) *pipeListener {
	return &pipeListener{address: address, conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.stop.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return l.address }

// pipeConn is a pipe's end with an address.
type pipeConn struct {
	net.Conn
	local net.Addr
}

func (c pipeConn) LocalAddr() net.Addr { return c.local }

// dial hands one end of a pipe to the listener; it waits until it is accepted, as no
// system's queue would.
func (l *pipeListener) dial() net.Conn {
	here, there := net.Pipe()
	select {
	case l.conns <- pipeConn{there, l.address}:
	case <-l.done:
		there.Close()
	}
	return here
}

// inBubble runs f with a server of cfg in a bubble. Every connection that f opens with
// the listener it has to close.
func inBubble(t *testing.T, cfg Config, f func(t *testing.T, s *Server, ln *pipeListener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if cfg.Control == nil {
			cfg.Control = newFake()
		}
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ln := pipes(&net.UnixAddr{Name: "pipe", Net: "unix"})
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		f(t, s, ln)
		s.Close()
		if err := <-served; err != ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
	})
}

// ended waits for the end of c, which may come with an answer.
func ended(c net.Conn) string {
	b, _ := io.ReadAll(c)
	c.Close()
	return string(b)
}
