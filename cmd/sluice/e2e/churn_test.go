//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// Serial: it is load. One of three backends comes and goes; its open sessions live on, so every byte must arrive.
func TestBytesSurviveBackendsThatComeAndGo(t *testing.T) {
	list := []*parts.Backend{parts.Serve(t, parts.Echo), parts.Serve(t, parts.Echo), parts.Serve(t, parts.Echo)}
	s, addr := start(t, fastCheck+"balance: p2c", list[0].Addr, list[1].Addr, list[2].Addr)
	end := time.Now().Add(5 * time.Second)
	var sessions, lost atomic.Int64
	each(t, 17, func(i int) error {
		if i == 0 {
			return comeAndGo(t, list[0], end)
		}
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for time.Now().Before(end) {
			sessions.Add(1)
			err := echoSome(addr, r)
			if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF) {
				lost.Add(1) // it waited to be accepted when the listener closed, as the log must prove below
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	t.Logf("%d sessions, %d of them in the queue of a listener that closed", sessions.Load(), lost.Load())
	if lost.Load() > 40 {
		t.Errorf("%d of %d sessions were lost, more than can have waited in a queue", lost.Load(), sessions.Load())
	}
	for _, r := range s.Log.All(parts.Match{Msg: "session"}) {
		if b := r.Get("backend"); b == "" || b != "b1" && strings.Contains(r.Raw, `"why":"reset"`) {
			t.Errorf("a client was lost though a healthy backend was there: %s", r.Raw)
		}
	}
}

// comeAndGo closes and reopens the listener of b every quarter of a second.
func comeAndGo(t *testing.T, b *parts.Backend, end time.Time) error {
	for time.Now().Before(end) {
		parts.Pause(250 * time.Millisecond)
		b.StopAccepting()
		parts.Pause(250 * time.Millisecond)
		b.Reopen(t)
	}
	return nil
}

// echoSome sends a random number of random bytes, ends the stream and expects the same bytes and end back.
func echoSome(addr string, r *rand.Rand) error {
	c, err := parts.TryDial("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	sent := make([]byte, 1+r.IntN(1<<(4+r.IntN(16))))
	for i := range sent {
		sent[i] = byte(r.Uint32())
	}
	writing := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		writing <- errors.Join(err, c.CloseWrite())
	}()
	got, err := io.ReadAll(c)
	if err := errors.Join(err, <-writing); err != nil {
		return err
	}
	switch {
	case len(got) < len(sent) && bytes.HasPrefix(sent, got):
		return fmt.Errorf("a clean end after %d of %d bytes", len(got), len(sent))
	case !bytes.Equal(got, sent):
		return fmt.Errorf("other bytes came back than the %d that were sent", len(sent))
	}
	return nil
}
