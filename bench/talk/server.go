package talk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// linger is for how long a server that ends its sessions reads on, for their clients to
// end them too.
const linger = 500 * time.Millisecond

// Hooks are what a server is, and whom it tells. All but Backend may be nil. They are
// called by many goroutines at once.
type Hooks struct {
	// Backend is its index, from 0.
	Backend int
	// First is told of a session with its first message, before that is answered: the
	// session is answered when it returns.
	First func(session uint64)
	// Wrong is told of a message that did not belong where it came: an error that wraps
	// ErrWrong. The session ends with it.
	Wrong func(error)
}

// Serve answers clients on ln until ctx ends; then it closes ln, ends every session in
// order, waits for its goroutines and returns nil. An accept that fails before is returned.
func Serve(ctx context.Context, ln net.Listener, h Hooks) error {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = ln.Close() })()
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			_ = ln.Close()
			return err
		}
		sessions.Go(func() { ServeConn(ctx, c, h) })
	}
}

// ServeConn answers one session and closes c: when its client ends it, when it sends what
// is wrong (with a reset), or when ctx ends. Then the client gets its end at once, but a new
// one first the answer to its first message if that comes within half a second; and it has
// as long to send its own end. What c fails with is the client's to notice.
func ServeConn(ctx context.Context, c net.Conn, h Hooks) {
	defer c.Close()
	var begun atomic.Bool // it has got an answer
	defer context.AfterFunc(ctx, func() {
		if begun.Load() {
			farewell(c)
		} else {
			_ = c.SetDeadline(time.Now().Add(linger))
		}
	})()
	err := answer(ctx, c, h, &begun)
	if err != nil && h.Wrong != nil {
		h.Wrong(err)
	}
	if err != nil {
		Reset(c)
		return
	}
	if ctx.Err() != nil {
		farewell(c)
		_, _ = io.Copy(io.Discard, c) // or what is unread would make a reset of the end
	}
}

// farewell sends the end, and bounds what follows.
func farewell(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(linger))
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Reset closes c with a reset, if it is TCP: else, and after an end was sent, like any other.
func Reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// answer answers until c fails or ends, or ctx does, and then returns nil; or what is wrong.
func answer(ctx context.Context, c net.Conn, h Hooks, begun *atomic.Bool) error {
	var b [Size]byte
	var session uint64
	for next := uint32(0); ; next++ {
		if n, err := io.ReadFull(c, b[:]); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("%w: it ends after %d bytes", ErrWrong, n)
			}
			return nil
		}
		got, number, err := ParseRequest(b[:])
		if err != nil {
			return err
		}
		if next == 0 {
			session = got
		}
		if got != session || number != next {
			return fmt.Errorf("%w: %d of session %d, %d of session %d belongs here", ErrWrong, number, got, next, session)
		}
		if next == 0 && h.First != nil {
			h.First(session)
		}
		if _, err := c.Write(Answer(b[:0], session, number, h.Backend)); err != nil {
			return nil
		}
		if begun.Store(true); ctx.Err() != nil {
			return nil
		}
	}
}
