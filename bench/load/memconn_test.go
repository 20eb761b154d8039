package load

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memConn is one end of a connection in memory, with room for whatever is written, so
// that a writer never waits. In a synctest bubble a wait for it is a wait.
type memConn struct {
	in, out *memHalf
}

// memPair returns both ends.
func memPair() (client, server net.Conn) {
	a, b := newMemHalf(), newMemHalf()
	return &memConn{a, b}, &memConn{b, a}
}

func (c *memConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *memConn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *memConn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

func (c *memConn) LocalAddr() net.Addr               { return nil }
func (c *memConn) RemoteAddr() net.Addr              { return nil }
func (c *memConn) SetDeadline(t time.Time) error     { return c.SetReadDeadline(t) }
func (c *memConn) SetWriteDeadline(time.Time) error  { return nil }
func (c *memConn) SetReadDeadline(t time.Time) error { c.in.until(t); return nil }

// memHalf is one direction.
type memHalf struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	closed bool
	timer  *time.Timer
	late   bool
}

func newMemHalf() *memHalf {
	h := &memHalf{}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *memHalf) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 && !h.closed && !h.late {
		h.change.Wait()
	}
	switch {
	case len(h.buf) > 0:
		n := copy(b, h.buf)
		h.buf = h.buf[n:]
		return n, nil
	case h.closed:
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded
}

func (h *memHalf) write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return 0, io.ErrClosedPipe
	}
	h.buf = append(h.buf, b...)
	h.change.Broadcast()
	return len(b), nil
}

func (h *memHalf) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
	h.change.Broadcast()
}

// until sets the read deadline.
func (h *memHalf) until(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
	}
	h.late = false
	h.timer = time.AfterFunc(time.Until(t), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.late = true
		h.change.Broadcast()
	})
}
