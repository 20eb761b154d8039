//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// isReset tells whether a write or a read met a connection that the peer has reset.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// burst runs f for n clients at once, 500 at most, and is over when all have ended.
func burst(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	for done := 0; done < n; done += 500 {
		each(t, min(500, n-done), func(i int) error { return f(done + i) })
	}
}

func TestFloodOfConnectsHoldsUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		b := parts.Serve(t, parts.Echo)
		s := besiege(t, engine, "", b.Addr)
		burst(t, 2000, func(i int) error {
			c, err := parts.TryDial(sourceOf(i), s.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			if i%3 == 0 { // says nothing
				return nil
			}
			return ask(c, fmt.Sprintf("client %d", i))
		})
		s.lifted()
	})
}

func TestClientsThatResetAtAnyMomentHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		b := parts.Serve(t, parts.Echo)
		s := besiege(t, engine, "", b.Addr)
		// Before they are accepted: it is stopped meanwhile.
		s.Signal(syscall.SIGSTOP)
		burst(t, 1000, func(i int) error { return resetAfter(s.addr, i, "") })
		s.Signal(syscall.SIGCONT)
		s.witness.answered(20)
		// While they are accepted and their backend is dialled.
		burst(t, 2000, func(i int) error { return resetAfter(s.addr, i, "") })
		s.witness.answered(20)
		// After it, with bytes under way.
		burst(t, 1000, func(i int) error { return resetAfter(s.addr, i, "x") })
		s.lifted()
	})
}

// resetAfter connects and resets, after an echo of text unless that is empty. Of those that had one, every second
// resets with bytes under way.
func resetAfter(addr string, i int, text string) error {
	c, err := parts.TryDial(sourceOf(i), addr)
	if err != nil {
		return err
	}
	defer parts.Reset(c)
	if text == "" {
		return nil
	}
	if err := ask(c, text); err != nil {
		return err
	}
	if i%2 == 0 {
		_, _ = c.Write(streamAt(0, streamPiece))
	}
	return nil
}

func TestBackendsThatAcceptAndResetHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		b := parts.Serve(t, parts.Reset)
		s := besiege(t, engine, "", b.Addr, parts.Serve(t, parts.Reset).Addr)
		burst(t, 2000, func(i int) error {
			c, err := parts.TryDial(sourceOf(i), s.addr)
			if errors.Is(err, syscall.ECONNRESET) {
				return nil // so early that the connect reports it
			}
			if err != nil {
				return err
			}
			defer c.Close()
			if i%2 == 0 {
				if _, err := io.WriteString(c, "a request that nobody reads"); isReset(err) {
					return nil // it took the error that the read would have got
				}
			}
			n, err := c.Read(make([]byte, 1))
			if n > 0 || !errors.Is(err, syscall.ECONNRESET) {
				return fmt.Errorf("client %d read %d bytes and %w, want a reset", i, n, err)
			}
			return nil
		})
		s.lifted()
	})
}
