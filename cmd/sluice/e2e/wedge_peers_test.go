//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// download is a client of a backend that pours.
type download struct {
	moved atomic.Int64
	done  chan error // why it ended
}

// downloads starts n of them, each of which has got some bytes.
func downloads(s *siege, n int) []*download {
	s.t.Helper()
	list := make([]*download, n)
	for i := range list {
		c, err := parts.TryDial(sourceOf(i), s.addr)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(4 * parts.Patience))
		d := &download{done: make(chan error, 1)}
		list[i] = d
		s.attack.Go(func() { d.run(c) })
	}
	for i, d := range list {
		bytesMove(s.t, fmt.Sprintf("download %d", i), &d.moved)
	}
	return list
}

func (d *download) run(c net.Conn) {
	defer c.Close()
	k := newChecker(c, streamPiece)
	for {
		n, err := k.read()
		d.moved.Add(int64(n))
		if err != nil {
			d.done <- err
			return
		}
	}
}

func TestBackendsThatAreFrozenAndKilledUnderBulkHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		b := parts.StartPeer(t, "pour", "")
		s := besiege(t, engine, "", b.Addr)
		list := downloads(s, 8)
		for range 2 {
			b.Signal(syscall.SIGSTOP)
			s.witness.answered(30)
			b.Signal(syscall.SIGCONT)
			for i, d := range list {
				bytesMove(t, fmt.Sprintf("download %d from a backend that goes on", i), &d.moved)
			}
		}
		b.Signal(syscall.SIGSTOP) // so that it is killed in the middle of a write
		b.Kill()
		for i, d := range list { // FIN or reset, as the kernel of the killed one decides
			if err := <-d.done; err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("download %d from a killed backend ended with %v", i, err)
			}
		}
		s.witness.answered(20)
		parts.StartPeer(t, "echo", b.Addr)
		c := parts.Dial(t, s.addr)
		parts.Echoes(t, c, "a new process")
		_ = c.Close()
		s.lifted()
	})
}

func TestThousandsOfSessionsThatEndAtOnceHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		const n = 2000
		b := parts.StartPeer(t, "echo", "")
		s := besiege(t, engine, "", b.Addr)
		conns := manySessions(t, n, s.addr)
		s.witness.answered(10)
		b.Kill()
		each(t, 50, func(worker int) error {
			for i := worker; i < n; i += 50 {
				if end := parts.Ends(t, conns[i], 2*parts.Patience); end == parts.EndOpen {
					return fmt.Errorf("client %d was never told", i)
				}
				_ = conns[i].Close()
			}
			return nil
		})
		s.lifted()
	})
}

// C60, with hundreds: no packet to their address arrives any more, and nothing says so.
func TestPeersThatVanishUnderLoadHoldUpNobody(t *testing.T) {
	onEnginesInPrivate(t, func(t *testing.T, engine string) {
		const away, n = "10.9.0.1", 50 // of each kind
		parts.IP(t, "addr", "add", away+"/32", "dev", "lo")
		far := parts.ServeAt(t, away+":30001", parts.Echo)
		s := besiege(t, engine, "timeouts: {user: 2s, keepalive: 1s}", far.Addr)
		quiet, busy := vanishing(t, n, "", s.addr), vanishing(t, n, "", s.addr)
		vanishing(t, n, away, s.calm) // far clients, whose backend is near
		pushing := vanishing(t, n, away, s.calm)
		before := s.Log.Len()
		parts.Vanish(t, away)
		errs := make(chan error, len(busy))
		for i := range n {
			s.attack.Go(func() { errs <- pour(busy[i], nil) })
			s.attack.Go(func() { _ = pour(pushing[i], nil) }) // hears nothing; ends when it is closed
		}
		s.witness.answered(100)
		for i, c := range quiet {
			if end := parts.Ends(t, c, 2*parts.Patience); end != parts.EndReset {
				t.Errorf("client %d of a vanished backend saw %v, want a reset", i, end)
			}
		}
		for range busy {
			if err := <-errs; !isReset(err) {
				t.Errorf("a client that sends to a vanished backend was stopped by %v, want a reset", err)
			}
		}
		parts.Eventually(t, 2*parts.Patience, "the sessions of vanished peers end by themselves", func() bool {
			return len(s.Log.All(parts.Match{Msg: "session", After: before, Fields: parts.Fields{"service": "s"}})) == 2*n &&
				s.fromAddress(before, away) == 2*n
		})
		for _, c := range pushing {
			_ = c.Close()
		}
		s.lifted()
	})
}

// vanishing opens n sessions from source to addr, behind which is an echo.
func vanishing(t *testing.T, n int, source, addr string) []net.Conn {
	t.Helper()
	list := make([]net.Conn, n)
	for i := range list {
		c := parts.DialFrom(t, source, addr)
		_ = c.SetDeadline(time.Now().Add(4 * parts.Patience))
		parts.Echoes(t, c, "hello")
		list[i] = c
	}
	return list
}

// fromAddress counts the sessions in the log that were of clients with an address.
func (s *siege) fromAddress(after int, address string) int {
	n := 0
	for _, r := range s.Log.All(parts.Match{Msg: "session", After: after}) {
		if strings.HasPrefix(r.Get("client"), address+":") {
			n++
		}
	}
	return n
}
