//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// pattern fills b with the bytes that stand at offset of an endless stream without a short period.
func pattern(b []byte, offset int64) {
	for i := range b {
		n := uint64(offset) + uint64(i)
		b[i] = byte(n * 0x9e3779b97f4a7c15 >> 56)
	}
}

// sendThenReset writes about size bytes of the pattern and ends with a reset, so that some of them may be lost.
func sendThenReset(c net.Conn, size int64) {
	buf := make([]byte, 64<<10)
	for sent := int64(0); sent < size; sent += int64(len(buf)) {
		pattern(buf, sent)
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
	parts.Reset(c)
}

// checkCut reads a stream that was cut and fails unless it is a beginning of the pattern that ends with a reset.
func checkCut(c net.Conn) error {
	got, want := make([]byte, 32<<10), make([]byte, 32<<10)
	var total int64
	for {
		n, err := c.Read(got)
		pattern(want[:n], total)
		if string(got[:n]) != string(want[:n]) {
			return fmt.Errorf("wrong bytes after %d right ones", total)
		}
		total += int64(n)
		if errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		if err == io.EOF {
			return fmt.Errorf("a cut stream ends after %d bytes as if it were complete", total)
		}
		if err != nil {
			return fmt.Errorf("after %d bytes: %w", total, err)
		}
	}
}

// C08, with bulk that is still under way when the backend aborts.
func TestCutDownloadNeverLooksComplete(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, func(c net.Conn) { sendThenReset(c, 1+rand.Int64N(4<<20)) })
	_, addr := start(t, noCheck, b.Addr)
	each(t, 40, func(i int) error {
		c, err := parts.TryDial("", addr)
		if errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		if err != nil {
			return err
		}
		defer c.Close()
		if i%2 == 0 { // half of the clients are slow to start
			parts.Pause(200 * time.Millisecond)
		}
		return checkCut(c)
	})
}

// C08, the other way.
func TestCutUploadNeverLooksComplete(t *testing.T) {
	t.Parallel()
	results := make(chan error, 40)
	b := parts.Serve(t, func(c net.Conn) { results <- checkCut(c) })
	_, addr := start(t, noCheck, b.Addr)
	each(t, cap(results), func(int) error {
		c, err := parts.TryDial("", addr)
		if err != nil {
			return err
		}
		sendThenReset(c, 1+rand.Int64N(4<<20))
		return nil
	})
	for range cap(results) {
		select {
		case err := <-results:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(parts.Patience):
			t.Fatal("a backend was never told")
		}
	}
}

// C64, with sessions that are all busy. Serial: it is load.
func TestDrainOfManyBusySessionsIsBounded(t *testing.T) {
	b := parts.Serve(t, parts.Echo)
	s, addr := start(t, noCheck, b.Addr)
	const n = 200
	for _, c := range idleSessions(t, n, addr) {
		go func() { _, _ = io.Copy(io.Discard, c) }()
		go func() {
			for buf := make([]byte, 16<<10); ; {
				if _, err := c.Write(buf); err != nil {
					return
				}
			}
		}()
	}
	parts.Pause(500 * time.Millisecond)
	begin := time.Now()
	s.Signal(syscall.SIGTERM)
	s.ExpectExit(t, parts.Patience, 0)
	elapsed(t, "the drain", begin, 900*time.Millisecond, 4*time.Second)
	if r := s.Log.Await(t, time.Second, 1, parts.Match{Msg: "stopped"}); !names(r, fmt.Sprint(n)) {
		t.Errorf("want %d forced sessions: %s", n, r.Raw)
	}
}
