//go:build linux

package e2e

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

func TestHundredsOfSingleByteSendersBesideBulkHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		const senders, streams = 300, 4
		b := parts.Serve(t, parts.Echo)
		s := besiege(t, engine, "", b.Addr)
		stop := make(chan struct{})
		var moved [streams]atomic.Int64
		errs := make(chan error, senders+streams)
		for i := range streams {
			s.attack.Go(func() { errs <- bulk(s.addr, &moved[i], stop) })
		}
		var sending sync.WaitGroup
		sending.Add(senders)
		for i := range senders {
			s.attack.Go(func() { errs <- trickle(s.addr, i, sending.Done, stop) })
		}
		sending.Wait() // each has had an answer, or failed
		s.witness.answered(30)
		for i := range streams {
			bytesMove(t, fmt.Sprintf("stream %d", i), &moved[i])
		}
		close(stop)
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		s.lifted()
	})
}

// bytesMove waits until the count has grown by a megabyte.
func bytesMove(t *testing.T, what string, moved *atomic.Int64) {
	t.Helper()
	before := moved.Load()
	parts.Eventually(t, 4*parts.Patience, what+" moves a megabyte", func() bool { return moved.Load() > before+1<<20 })
}

// trickle is a client that sends the stream byte by byte and expects each back, until stop.
func trickle(addr string, i int, begun func(), stop <-chan struct{}) error {
	c, err := parts.TryDial(sourceOf(i), addr)
	if err != nil {
		begun()
		return err
	}
	defer c.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := int64(0); ; n++ {
		err := ask(c, string(streamAt(n, 1)))
		if n == 0 {
			begun()
		}
		if err != nil {
			return fmt.Errorf("byte %d of client %d: %w", n, i, err)
		}
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
	}
}

// bulk sends the stream through an echo and expects it back. At stop it ends its sending side, and whatever was sent
// must come back before the end. moved counts what did.
func bulk(addr string, moved *atomic.Int64, stop <-chan struct{}) error {
	c, err := parts.TryDial("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * parts.Patience))
	sent := make(chan int64, 1)
	go func() { sent <- send(c, stop) }()
	k := newChecker(c, streamPiece)
	for err == nil {
		var n int
		n, err = k.read()
		moved.Add(int64(n))
	}
	if err != io.EOF {
		_ = c.Close() // ends the sender
	}
	if total := <-sent; err != io.EOF || k.total != total {
		return fmt.Errorf("bulk: %d of %d bytes came back, then %w", k.total, total, err)
	}
	return nil
}

// send sends the stream until stop and then ends it. It returns how many bytes that were.
func send(c interface {
	io.Writer
	CloseWrite() error
}, stop <-chan struct{}) int64 {
	for total := int64(0); ; {
		select {
		case <-stop:
			_ = c.CloseWrite()
			return total
		default:
		}
		n, err := c.Write(streamAt(total, streamPiece))
		total += int64(n)
		if err != nil {
			return total
		}
	}
}
