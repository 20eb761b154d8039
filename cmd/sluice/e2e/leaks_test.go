//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// mixed is a backend that ends its sessions in another way each time.
func mixed(c net.Conn) {
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	if err != nil {
		return
	}
	switch buf[0] {
	case 'e': // echo until the client ends
		_, _ = c.Write(buf[:n])
		parts.Echo(c)
	case 'b': // the backend goes first
		_, _ = c.Write(buf[:n])
	case 'r':
		parts.Reset(c)
	case 'm': // a reply the client leaves in the middle
		_, _ = c.Write(make([]byte, 256<<10))
	}
}

// mixedClient is one session of kind i; every way to end is right as long as it ends.
func mixedClient(i int, addr string) error {
	c, err := parts.TryDial("", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	kind := "ebrmnhx"[i%7 : i%7+1]
	switch kind {
	case "n": // closes before it said anything
		return nil
	case "x": // resets
		_, _ = io.WriteString(c, "e")
		parts.Reset(c)
		return nil
	case "h": // half-closes
		_, _ = io.WriteString(c, "e")
		_ = c.CloseWrite()
	default:
		_, _ = io.WriteString(c, kind)
	}
	if kind == "e" || kind == "m" {
		_, _ = c.Read(make([]byte, 1))
		return nil
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			return fmt.Errorf("session %d of kind %s never ended", i, kind)
		}
	}
	return nil
}

// C10. Serial: it is load.
func TestManyKindsOfSessionsLeaveNothingBehind(t *testing.T) {
	b := parts.Serve(t, mixed)
	refusing := parts.RefusedAddr(t)
	keys := noCheck + "passive: {failures: 0}"
	fresh, freshAddr := start(t, keys, b.Addr, refusing)
	parts.Echoes(t, parts.Dial(t, freshAddr), "echo")

	s, addr := start(t, keys, b.Addr, refusing)
	warm := parts.Dial(t, addr)
	parts.Echoes(t, warm, "echo")
	_ = warm.Close()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session"})
	before := parts.CountFDs(t, s.Pid())
	for range 10 {
		each(t, 200, func(i int) error { return mixedClient(i, addr) })
	}
	var now parts.FDs
	back := func() bool {
		now = parts.CountFDs(t, s.Pid())
		return now.Sockets <= before.Sockets && now.Total-now.Pipes <= before.Total-before.Pipes
	}
	if !parts.Within(5*time.Second, back) {
		t.Errorf("after 2000 sessions %+v, before them %+v", now, before)
	}
	if n := parts.CountState(t, s.Pid(), "CLOSE-WAIT"); n > 0 {
		t.Errorf("%d sockets in CLOSE-WAIT", n)
	}
	parts.Eventually(t, 3*time.Second, "the backend's sessions end", func() bool {
		return b.Active.Load() <= 1 // that of the fresh process
	})
	want, got := fresh.Stacks(t), s.Stacks(t)
	if len(want) == 0 || len(got) > len(want)+4 {
		t.Errorf("%d goroutines after 2000 sessions, a fresh process with one session has %d", len(got), len(want))
	}
}

// C98. The standard library keeps idle pipes until a garbage collection, so what counts is that they are bounded.
func TestIdleSessionsHoldFewPipes(t *testing.T) {
	const limit = 1024
	b := parts.Serve(t, parts.Echo)
	s, addr := startWithFiles(t, limit, noCheck, b.Addr)
	before := parts.CountFDs(t, s.Pid())
	conns := idleSessions(t, 200, addr)
	if now := parts.CountFDs(t, s.Pid()); now.Pipes > before.Pipes || now.Sockets > before.Sockets+400 {
		t.Errorf("200 sessions without bulk hold %+v, had %+v before", now, before)
	}
	each(t, len(conns), func(i int) error {
		done := make(chan error, 1)
		go func() {
			_, err := conns[i].Write(make([]byte, 1<<20))
			done <- err
		}()
		if _, err := io.CopyN(io.Discard, conns[i], 1<<20); err != nil {
			return err
		}
		return <-done
	})
	var now parts.FDs
	few := func() bool {
		now = parts.CountFDs(t, s.Pid())
		return now.Pipes-before.Pipes <= limit/8 && now.Sockets-before.Sockets <= 400
	}
	if !parts.Within(5*time.Second, few) {
		t.Errorf("200 idle sessions hold %+v, had %+v before them", now, before)
	}
	t.Logf("after bulk: %+v", now)
}

// C54. Serial: it measures memory, of the binary users run.
func TestIdleSessionsAreCheap(t *testing.T) {
	const n = 3000
	b := parts.Serve(t, parts.Echo)
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: "log: {format: json, sessions: errors}\n" + service(noCheck, b.Addr)})
	addr := s.Addr(t, "s")
	parts.Echoes(t, parts.Dial(t, addr), "warm")
	fds, rss := parts.CountFDs(t, s.Pid()), parts.RSS(t, s.Pid())
	var memory [3]int
	for round := range memory {
		conns := manySessions(t, n, addr)
		now := parts.CountFDs(t, s.Pid())
		memory[round] = parts.RSS(t, s.Pid()) - rss
		t.Logf("round %d: %d bytes and %.3f sockets a session, %d pipes",
			round+1, memory[round]/n, float64(now.Sockets-fds.Sockets)/n, now.Pipes)
		if now.Sockets-fds.Sockets > 2*n || now.Pipes > fds.Pipes {
			t.Errorf("%d sockets and %d pipes for %d idle sessions", now.Sockets-fds.Sockets, now.Pipes-fds.Pipes, n)
		}
		for _, c := range conns {
			_ = c.Close()
		}
		parts.Eventually(t, 5*time.Second, "the sockets are closed", func() bool {
			return parts.CountFDs(t, s.Pid()).Sockets <= fds.Sockets
		})
	}
	if memory[0] > n*20<<10 {
		t.Errorf("%d bytes of memory an idle session, want at most 20 KB", memory[0]/n)
	}
	// What a round leaves is used again by the next ones, but for what the runtime takes and gives as it likes.
	const whims = 1 << 20
	for round, bytes := range memory[1:] {
		if bytes > memory[0]*3/2+whims {
			t.Errorf("round %d takes %d KB, the first took %d", round+2, bytes>>10, memory[0]>>10)
		}
	}
}

// manySessions opens n sessions that have each passed 100 bytes and now are idle.
func manySessions(t *testing.T, n int, addr string) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	each(t, 50, func(worker int) error {
		for i := worker; i < n; i += 50 {
			c, err := parts.TryDial("", addr)
			if err != nil {
				return err
			}
			conns[i] = c
			if err := parts.Roundtrip(c, fmt.Sprintf("%0100d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	t.Cleanup(func() {
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
	})
	return conns
}
