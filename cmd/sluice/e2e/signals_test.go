//go:build linux

package e2e

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// idleSessions opens n sessions through addr that have passed a few bytes.
func idleSessions(t *testing.T, n int, addr string) []net.Conn {
	t.Helper()
	list := make([]net.Conn, n)
	for i := range list {
		list[i] = parts.Dial(t, addr)
		parts.Echoes(t, list[i], "hello")
	}
	return list
}

// C64
func TestDrainEndsIdleSessionsAtTheTimeout(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s := run(t, "shutdown_timeout: 3s\n"+service(noCheck, b.Addr))
	addr := s.Addr(t, "s")
	conns := idleSessions(t, 5, addr)
	begin := time.Now()
	s.Signal(syscall.SIGTERM)
	s.Log.Await(t, time.Second, 1, parts.Match{Msg: "draining"})
	parts.Eventually(t, time.Second, "new clients are refused", func() bool {
		c, err := parts.TryDial("", addr)
		if err != nil {
			return true
		}
		defer c.Close()
		return parts.Roundtrip(c, "x") != nil
	})
	for _, c := range conns { // a drain lets sessions go on
		parts.Echoes(t, c, "still here")
	}
	s.ExpectExit(t, 8*time.Second, 0)
	elapsed(t, "the drain", begin, 2900*time.Millisecond, 6*time.Second)
	for _, c := range conns {
		parts.Ends(t, c, time.Second)
	}
	if r := s.Log.Await(t, time.Second, 1, parts.Match{Msg: "stopped"}); !names(r, "5") {
		t.Errorf("the record does not say that 5 sessions were forced: %s", r.Raw)
	}
}

// names tells whether any field but the time has the value.
func names(r parts.Record, value string) bool {
	for key := range r.Fields {
		if key != "time" && r.Get(key) == value {
			return true
		}
	}
	return false
}

func TestDrainEndsWithItsLastSession(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s := run(t, "shutdown_timeout: 30s\n"+service(noCheck, b.Addr))
	conns := idleSessions(t, 3, s.Addr(t, "s"))
	s.Signal(syscall.SIGTERM)
	s.Log.Await(t, time.Second, 1, parts.Match{Msg: "draining"})
	parts.Pause(500 * time.Millisecond)
	for _, c := range conns {
		parts.Echoes(t, c, "last words")
		_ = c.Close()
	}
	begin := time.Now()
	s.ExpectExit(t, 5*time.Second, 0)
	elapsed(t, "exit after the last session", begin, 0, 1500*time.Millisecond)
}

// C64
func TestSecondSignalEndsADrainAtOnce(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, parts.Echo)
			s := run(t, "shutdown_timeout: 30s\n"+service(noCheck, b.Addr))
			conns := idleSessions(t, 5, s.Addr(t, "s"))
			s.Signal(syscall.SIGTERM)
			s.Log.Await(t, time.Second, 1, parts.Match{Msg: "draining"})
			begin := time.Now()
			s.Signal(second)
			s.ExpectExit(t, 5*time.Second, 0)
			elapsed(t, "the end", begin, 0, 1500*time.Millisecond)
			parts.Ends(t, conns[0], time.Second)
		})
	}
}

func TestSignalWithoutSessionsEndsQuickly(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, parts.Echo)
			s := run(t, "shutdown_timeout: 30s\n"+service(fastCheck, b.Addr))
			s.Addr(t, "s")
			s.AwaitUp(t, "b1")
			begin := time.Now()
			s.Signal(sig)
			s.ExpectExit(t, 5*time.Second, 0)
			elapsed(t, "the end", begin, 0, 1500*time.Millisecond)
			s.Log.Await(t, time.Second, 1, parts.Match{Msg: "stopped"})
		})
	}
}

// C97
func TestDrainEndsASessionWhoseClientDoesNotRead(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, func(c net.Conn) {
		for {
			if _, err := c.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	_, addr := start(t, noCheck, b.Addr)
	parts.Expect(t, parts.Dial(t, addr), "\x00") // reads one byte, and never again
	parts.Pause(500 * time.Millisecond)
	// RunSluice stops it with a shutdown_timeout of 1 s and fails if it does not end.
}

func TestOtherSignalsLeaveItRunning(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"SIGHUP": syscall.SIGHUP, "SIGUSR2": syscall.SIGUSR2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := parts.Serve(t, parts.Echo)
			s, addr := start(t, noCheck, b.Addr)
			c := parts.Dial(t, addr)
			parts.Echoes(t, c, "before")
			before := s.Log.Len()
			s.Signal(sig)
			s.Log.Await(t, parts.Patience, 1, parts.Match{After: before})
			parts.Echoes(t, c, "after")
			parts.Echoes(t, parts.Dial(t, addr), "new")
		})
	}
}

// A log whose reader is gone must not end the balancer or its sessions.
func TestBrokenLogPipeDoesNotEndIt(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	parts.Echoes(t, c, "before")
	s.DropLog()
	for range 10 { // each leaves a record that cannot be written
		other := parts.Dial(t, addr)
		parts.Echoes(t, other, "hello")
		_ = other.Close()
	}
	parts.Echoes(t, c, "after")
	parts.Pause(200 * time.Millisecond)
	if s.Ended() {
		t.Error("the broken log ended it")
	}
}

// A log whose reader hangs must neither hold up clients nor the end.
func TestFullLogPipeHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	s, addr := start(t, noCheck, b.Addr)
	c := parts.Dial(t, addr)
	parts.Expect(t, c, "b1\n")
	held := make(chan struct{})
	go func() { s.HoldLog(t); close(held) }()
	for range 2000 { // whose records fill the pipe
		whoNow(t, "", addr)
	}
	<-held
	parts.Echoes(t, c, "still here")
	_ = c.Close()
	s.Signal(syscall.SIGTERM)
	if code := s.Exit(5 * time.Second); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

func TestListenersOfSeveralServicesAndAddresses(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	second := parts.FreeAddr(t)
	s := run(t, strings.Join([]string{
		"services:",
		"  - {name: one, listen: [\"127.0.0.1:0\", \"" + second + "\"], backends: [\"" + addrs[0] + "\"]}",
		"  - {name: two, listen: \"127.0.0.1:0\", backends: [\"" + addrs[1] + "\"]}", ""}, "\n"))
	s.Log.Await(t, parts.Patience, 2, parts.Match{Msg: "listening", Fields: parts.Fields{"service": "one"}})
	for addr, want := range map[string]string{s.Addr(t, "one"): "b1", second: "b1", s.Addr(t, "two"): "b2"} {
		if got := whoNow(t, "", addr); got != want {
			t.Errorf("%s leads to %s, want %s", addr, got, want)
		}
	}
}
