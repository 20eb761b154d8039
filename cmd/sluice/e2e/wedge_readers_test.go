//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// Serial, as all of these: it is load.
func TestSlowReadersHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		const readers = 300
		b := parts.Serve(t, func(c net.Conn) { _ = pour(c, nil) })
		s := besiege(t, engine, "", b.Addr)
		stop := make(chan struct{})
		var reading sync.WaitGroup
		reading.Add(readers)
		errs := make(chan error, readers)
		for i := range readers {
			s.attack.Go(func() { errs <- readSlowly(s.addr, i, reading.Done, stop) })
		}
		reading.Wait() // each has read something, or failed
		s.witness.answered(100)
		close(stop)
		for range readers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		s.lifted()
	})
}

// readSlowly reads a byte of the stream now and then until stop, and ends in one way or the other.
func readSlowly(addr string, i int, reading func(), stop <-chan struct{}) error {
	c, err := dialSmall(sourceOf(i), addr)
	if err != nil {
		reading()
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(4 * parts.Patience))
	k := newChecker(c, 1)
	_, err = k.read()
	reading()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for err == nil {
		select {
		case <-stop:
			if i%2 == 0 {
				parts.Reset(c)
			}
			return nil
		case <-tick.C:
			_, err = k.read()
		}
	}
	return fmt.Errorf("slow reader %d: %w", i, err)
}

// stuck opens n downloads that no client reads and n uploads that no backend reads, and returns when nothing moves
// any more.
func stuck(s *siege, n int, senders *stuckBackends) []*net.TCPConn {
	s.t.Helper()
	conns := make([]*net.TCPConn, 2*n)
	for i := range conns {
		c, err := dialSmall("", s.addr)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = c.Close() })
		conns[i] = c
		if i%2 == 0 { // a download
			parts.Write(s.t, c, "d")
			continue
		}
		parts.Write(s.t, c, "u")
		s.attack.Go(func() { senders.errs <- pour(c, senders.add) })
	}
	settled(s.t, "the streams are stuck", int64(2*n), &senders.moved)
	return conns
}

// stuckBackends is the far side of stuck.
type stuckBackends struct {
	*parts.Backend
	moved atomic.Int64  // bytes that any sender got rid of
	errs  chan error    // why each sender was stopped
	hold  chan struct{} // closed by letGo
	letGo func()        // of the uploads that are not read
}

func startStuck(t *testing.T, n int) *stuckBackends {
	t.Helper()
	b := &stuckBackends{errs: make(chan error, 2*n), hold: make(chan struct{})}
	b.letGo = sync.OnceFunc(func() { close(b.hold) })
	b.Backend = parts.Serve(t, b.handle)
	t.Cleanup(b.letGo)
	return b
}

func (b *stuckBackends) add(n int) { b.moved.Add(int64(n)) }

func (b *stuckBackends) handle(c net.Conn) {
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	kind := make([]byte, 1)
	if _, err := io.ReadFull(c, kind); err != nil {
		return
	}
	if kind[0] == 'd' {
		b.errs <- pour(c, b.add)
		return
	}
	<-b.hold
}

func TestWindowsThatStayClosedHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		const n = 100
		senders := startStuck(t, n)
		s := besiege(t, engine, "", senders.Addr)
		conns := stuck(s, n, senders)
		s.witness.answered(100)
		for i, c := range conns {
			if i%4 < 2 {
				parts.Reset(c)
			} else {
				_ = c.Close()
			}
		}
		senders.letGo()
		for range 2 * n {
			if err := <-senders.errs; errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a sender was never told: %v", err)
			}
		}
		s.lifted()
	})
}

// C97, with pipes and buffers full in both directions. The streams were cut, so every end is a reset.
func TestStuckStreamsEndWithTheProcess(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		const n = 50
		senders := startStuck(t, n)
		s := besiege(t, engine, "", senders.Addr)
		conns := stuck(s, n, senders)
		s.witness.answered(20)
		s.witness.stop() // or its sessions would be cut too
		s.Signal(syscall.SIGTERM)
		s.ExpectExit(t, parts.Patience, 0) // shutdown_timeout is 1 s
		for i, c := range conns {
			_ = c.SetDeadline(time.Now().Add(parts.Patience))
			if i%2 == 1 {
				continue // its sender has seen it
			}
			if err := newChecker(c, 4<<10).rest(); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("download %d ended with %v, want a reset", i, err)
			}
		}
		for range 2 * n {
			if err := <-senders.errs; !isReset(err) {
				t.Errorf("a sender was stopped by %v, want a reset", err)
			}
		}
		senders.letGo()
		s.attack.Wait()
	})
}
