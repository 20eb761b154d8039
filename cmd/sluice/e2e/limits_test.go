//go:build linux

package e2e

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// startWithFiles runs one service with a file limit, built without the race detector, whose runtime has needs of its own.
func startWithFiles(t *testing.T, limit int, keys string, backends ...string) (*parts.Sluice, string) {
	t.Helper()
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: service(keys, backends...),
		Wrap: []string{parts.Find(t, "prlimit", "util-linux"), fmt.Sprintf("--nofile=%d:%d", limit, limit)}})
	return s, s.Addr(t, "s")
}

// C47. Serial: it measures processor time.
func TestFileLimitShedsClientsWithoutSpinning(t *testing.T) {
	b := parts.Serve(t, parts.Greet("b1"))
	s, addr := startWithFiles(t, 64, fastCheck, b.Addr) // probes need descriptors too
	s.AwaitUp(t, "b1")
	conns, served := crowd(100, addr)
	defer closeAll(conns)
	if len(served) < 15 {
		t.Fatalf("with 64 descriptors only %d of 100 clients are served", len(served))
	}
	quietFor(t, s, 3*time.Second)
	if out := s.Output.String(); !strings.Contains(out, "limit") && !strings.Contains(out, "descriptor") {
		t.Errorf("nothing in the log says that clients are shed:\n%s", out)
	}
	if downs := s.Log.All(parts.Match{Msg: "backend down"}); len(downs) > 0 {
		t.Errorf("the file limit took a healthy backend down: %s", downs[0].Raw)
	}
	for _, c := range served {
		_ = c.SetDeadline(time.Now().Add(parts.Patience))
		parts.Echoes(t, c, "still here")
	}
	closeAll(conns[:50])
	begin := time.Now()
	parts.Eventually(t, 1500*time.Millisecond, "a new client is served", func() bool {
		name, err := parts.Who("", addr)
		return err == nil && name == "b1"
	})
	for range 5 {
		whoNow(t, "", addr)
	}
	elapsed(t, "serving again", begin, 0, 1500*time.Millisecond)
}

// crowd opens n connections and tells which of them are served. Those that are shed may be nil: the reset can come
// with the connect.
func crowd(n int, addr string) (conns, served []*net.TCPConn) {
	conns = make([]*net.TCPConn, n)
	for i := range conns {
		conns[i], _ = parts.TryDial("", addr)
	}
	for _, c := range conns {
		if c == nil {
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if name, err := parts.Name(c); err == nil && name == "b1" {
			served = append(served, c)
		}
	}
	return conns, served
}

// quietFor fails the test if sluice uses a tenth of a processor or writes more than two log lines a second.
func quietFor(t *testing.T, s *parts.Sluice, d time.Duration) {
	t.Helper()
	lines, cpu := s.Log.Len(), parts.CPU(t, s.Pid())
	parts.Pause(d)
	if used := parts.CPU(t, s.Pid()) - cpu; used > d/10 {
		t.Errorf("%v of processor time in %v, want less than 10 %%", used, d)
	}
	if n := s.Log.Len() - lines; n > int(2*d/time.Second) {
		t.Errorf("%d log lines in %v", n, d)
	}
}

// closeAll closes the connections that are there.
func closeAll(conns []*net.TCPConn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// C98
func TestFewDescriptorsStillCarryBulk(t *testing.T) {
	b := parts.Serve(t, parts.Echo)
	s, addr := startWithFiles(t, 256, noCheck, b.Addr)
	conns := idleSessions(t, 100, addr)
	var most atomic.Int64
	each(t, len(conns), func(i int) error {
		c := conns[i].(*net.TCPConn)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		go func() { _ = writeUnevenly(c, make([]byte, 2<<20)) }()
		if end, n := parts.EndOf(t, c, time.Minute); end != parts.EndFIN || n != 2<<20 {
			return fmt.Errorf("session %d: %v after %d of %d bytes", i, end, n, 2<<20)
		}
		most.Store(max(most.Load(), int64(parts.CountFDs(t, s.Pid()).Total)))
		return nil
	})
	if n := most.Load(); n > 256 {
		t.Errorf("%d descriptors with a limit of 256", n)
	}
}

func TestLimitOfConnectionsOfAService(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	s, addr := start(t, noCheck+"limits: {connections: 5}", b.Addr)
	on := sessionsByBackend(t, 5, addr)
	parts.Refused(t, "", addr, time.Second)
	_ = on["b1"][0].Close()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session", Fields: parts.Fields{"backend": "b1"}})
	parts.Eventually(t, parts.Patience, "a place is free", func() bool {
		name, err := parts.Who("", addr)
		return err == nil && name == "b1"
	})
	if peak := b.Peak.Load(); peak > 5 {
		t.Errorf("%d sessions at once", peak)
	}
}

func TestLimitOfConnectionsPerSource(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	_, addr := start(t, noCheck+"limits: {per_source: 2}", b.Addr)
	for _, source := range []string{"127.0.0.2", "127.0.0.3"} {
		for range 2 {
			parts.Expect(t, parts.DialFrom(t, source, addr), "b1\n")
		}
		parts.Refused(t, source, addr, time.Second) // a third
	}
}

func TestDeniedClientsAreRefused(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	_, addr := start(t, noCheck+"allow: [127.0.0.0/24]\ndeny: [127.0.0.66/32]", b.Addr)
	if got := whoNow(t, "127.0.0.2", addr); got != "b1" {
		t.Errorf("an allowed client got %q", got)
	}
	for _, source := range []string{"127.0.0.66", "127.0.1.1"} {
		parts.Refused(t, source, addr, time.Second)
	}
	if n := b.Accepted.Load(); n != 1 {
		t.Errorf("the backend was dialled %d times, want once", n)
	}
}

// C56. Serial: it measures delays. In a namespace of its own, because the counter is that of all its sockets.
func TestBurstOfConnectsIsAcceptedAtOnce(t *testing.T) {
	if !inNetns(t) {
		return
	}
	b := parts.Serve(t, parts.Greet("b1"))
	_, addr := start(t, noCheck, b.Addr)
	whoNow(t, "", addr)
	before := parts.ListenOverflows(t)
	var slow atomic.Int64
	each(t, 1000, func(int) error {
		begin := time.Now()
		c, err := parts.TryDial("", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if time.Since(begin) > 900*time.Millisecond {
			slow.Add(1)
		}
		_, err = parts.Name(c)
		return err
	})
	if n := slow.Load(); n > 0 {
		t.Errorf("%d of 1000 connects took more than 900 ms", n)
	}
	if n := parts.ListenOverflows(t) - before; n > 0 {
		t.Errorf("%d connections overflowed an accept queue", n)
	}
}
