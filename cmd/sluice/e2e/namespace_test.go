//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// inNetns runs the calling test in a network namespace of its own, with the binary of this run.
func inNetns(t *testing.T) bool {
	t.Helper()
	return parts.InNetns(t, binaryEnv+"="+binary(t))
}

// C82
func TestDeadPortOfTheEphemeralRangeIsNeverUp(t *testing.T) {
	t.Parallel()
	if !inNetns(t) {
		return
	}
	const dead = "127.0.0.1:40004"
	parts.Sysctl(t, "ipv4/ip_local_port_range", "40000 40009")
	if !parts.Within(5*time.Second, func() bool { return connectsToItself(dead) }) {
		t.Fatal("this kernel does not connect a socket to itself: the test proves nothing")
	}
	s := run(t, service("listen: 127.0.0.1:30000\ncheck: {type: tcp, interval: 10ms, timeout: 1s, rise: 1, fall: 2}", dead))
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down"})
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); parts.Pause(50 * time.Millisecond) {
		if !parts.Within(500*time.Millisecond, func() bool { return bindable(t, 40004) }) {
			t.Fatal("probes keep the port of a dead backend in use")
		}
	}
	if ups := s.Log.All(parts.Match{Msg: "backend up"}); len(ups) > 0 {
		t.Fatalf("a port nobody listens on was up %d times: %s", len(ups), ups[0].Raw)
	}
	for range 50 { // dials of clients may not meet themselves either
		d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 0}}
		c, err := d.Dial("tcp", "127.0.0.1:30000")
		if err != nil {
			continue // the range is small
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		if err := parts.Roundtrip(c, "anybody there?"); err == nil {
			t.Error("a client got its own bytes back from a dead backend")
		}
		_ = c.Close()
	}
	b := parts.ServeAt(t, dead, parts.Greet("b1"))
	s.AwaitUp(t, "b1")
	if b.Accepted.Load() == 0 {
		t.Error("up without a connection")
	}
}

// connectsToItself tells whether a connect to a dead port of the ephemeral range has met itself. It connects without
// Go's dialer, which closes such connections.
func connectsToItself(addr string) bool {
	a, _ := net.ResolveTCPAddr("tcp4", addr)
	to := &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())}
	for range 100 {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return false
		}
		err = syscall.Connect(fd, to)
		_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
		_ = syscall.Close(fd)
		if err == nil {
			return true
		}
	}
	return false
}

// bindable tells whether a server could take the port now. It does not listen, so that no probe finds it up.
func bindable(t *testing.T, port int) bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil
}

// shortSessions makes n sessions, one after the other, whose clients close first from ports outside the ephemeral
// range. It returns how many were served and the longest time one took.
func shortSessions(t *testing.T, n, firstPort int, addr string) (served int, slowest time.Duration) {
	t.Helper()
	for i := range n {
		begin := time.Now()
		d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9), Port: firstPort + i}}
		c, err := d.Dial("tcp", addr)
		if err == nil {
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			if name, err := parts.Name(c); err == nil && strings.HasPrefix(name, "b") {
				served++
			}
			_ = c.Close()
		} else if !errors.Is(err, syscall.ECONNRESET) { // a refusal may come with the connect
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(begin))
	}
	return served, slowest
}

// C50
func TestUsedUpPortsFailFastAndByName(t *testing.T) {
	t.Parallel()
	if !inNetns(t) {
		return
	}
	parts.Sysctl(t, "ipv4/ip_local_port_range", "40000 40063")
	parts.Sysctl(t, "ipv4/tcp_tw_reuse", "0")
	one := parts.ServeAt(t, "127.0.0.1:30001", parts.Greet("b1"))
	two := parts.ServeAt(t, "127.0.0.2:30002", parts.Greet("b2"))
	single := run(t, service("listen: 127.0.0.1:30000\n"+noCheck+"connect: {timeout: 2s}", one.Addr))
	cpu := parts.CPU(t, single.Pid())
	begin := time.Now()
	served, slowest := shortSessions(t, 200, 20000, single.Addr(t, "s"))
	t.Logf("64 ports: %d of 200 served, the slowest took %v", served, slowest)
	if served < 50 || served > 64 {
		t.Errorf("%d of 200 sessions were served with 64 ports", served)
	}
	if slowest > time.Second {
		t.Errorf("a client waited %v for a port that cannot come", slowest)
	}
	if used, took := parts.CPU(t, single.Pid())-cpu, time.Since(begin); used > took {
		t.Errorf("%v of processor time in %v", used, took)
	}
	if out := strings.ToLower(single.Output.String()); !strings.Contains(out, "assign requested address") &&
		!strings.Contains(out, "address not available") && !strings.Contains(out, "port") {
		t.Errorf("nothing in the log names the lack of ports:\n%s", single.Output.Last(5))
	}
	single.Stop(t)

	// Ports are free again for another address: both backends together serve what one cannot.
	double := run(t, service("listen: 127.0.0.1:30003\n"+noCheck+"connect: {timeout: 2s}\npassive: {failures: 0}",
		"127.0.0.1:30004", two.Addr))
	parts.ServeAt(t, "127.0.0.1:30004", parts.Greet("b1"))
	served, slowest = shortSessions(t, 120, 21000, double.Addr(t, "s"))
	if served < 115 || slowest > time.Second {
		t.Errorf("two backends and 64 ports: %d of 120 served, the slowest took %v", served, slowest)
	}
}

// C60
func TestVanishedPeerEndsItsSessionWithinTheUserTimeout(t *testing.T) {
	t.Parallel()
	if !inNetns(t) {
		return
	}
	const away = "10.9.0.1"
	parts.IP(t, "addr", "add", away+"/32", "dev", "lo")
	b := parts.ServeAt(t, away+":30001", parts.Echo)
	pusher := parts.ServeAt(t, "127.0.0.1:30002", pushEverySecond)
	s := run(t, strings.Join([]string{"services:",
		fmt.Sprintf("  - {name: backend, listen: \"127.0.0.1:0\", check: {type: none}, timeouts: {user: 3s}, backends: [%q]}", b.Addr),
		fmt.Sprintf("  - {name: client, listen: \"127.0.0.1:0\", check: {type: none}, timeouts: {user: 3s}, backends: [%q]}", pusher.Addr),
		""}, "\n"))
	toLost := parts.Dial(t, s.Addr(t, "backend"))
	parts.Echoes(t, toLost, "hello")
	lost := parts.DialFrom(t, away, s.Addr(t, "client"))
	parts.Expect(t, lost, "x")

	parts.Vanish(t, away)
	begin := time.Now()
	parts.Write(t, toLost, "!")
	if end := parts.Ends(t, toLost, 9*time.Second); end != parts.EndReset {
		t.Errorf("the client of a vanished backend saw %v, want a reset", end)
	}
	elapsed(t, "noticing the vanished backend", begin, 2*time.Second, 8*time.Second)
	parts.Eventually(t, 8*time.Second, "the backend of a vanished client is free", func() bool { return pusher.Active.Load() == 0 })
	s.Log.Await(t, time.Second, 1, parts.Match{Msg: "session", Fields: parts.Fields{"service": "backend"}})
	s.Log.Await(t, time.Second, 1, parts.Match{Msg: "session", Fields: parts.Fields{"service": "client"}})
}

// pushEverySecond sends a byte a second until that fails.
func pushEverySecond(c net.Conn) {
	for {
		if _, err := c.Write([]byte("x")); err != nil {
			return
		}
		parts.Pause(time.Second)
	}
}
