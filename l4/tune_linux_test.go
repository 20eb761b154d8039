package l4

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/l4/relay"
)

// queueLimit is the longest queue of clients that a listener may have.
func queueLimit() int {
	b, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	if err != nil {
		return 128
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

// legs returns the descriptors of the service's two sockets of a client's session.
func (r *rig) legs(client relay.Conn) map[string]int {
	r.t.Helper()
	r.awaitRelayed(1)
	peers := map[string]string{client.LocalAddr().String(): "client", r.backends[0].Address(): "backend"}
	legs := make(map[string]int)
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			r.t.Fatal(err)
		}
		peer, err := unix.Getpeername(fd)
		if sa, ok := peer.(*unix.SockaddrInet4); ok && err == nil {
			if leg, ours := peers[netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String()]; ours {
				legs[leg] = fd
			}
		}
	}
	if len(legs) != len(peers) {
		r.t.Fatalf("found only %v", legs)
	}
	return legs
}

// C59, C60, C100
func TestBothLegsHaveTheConfiguredSocketOptions(t *testing.T) {
	type option struct {
		name          string
		level, option int
		want          int
	}
	for _, c := range []struct {
		name string
		cfg  Config
		want []option
	}{
		{"off", Config{}, []option{
			{"SO_PROTOCOL", unix.SOL_SOCKET, unix.SO_PROTOCOL, unix.IPPROTO_TCP},
			{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 0},
			{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 0},
			{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		}},
		{"on", Config{KeepAlive: 17 * time.Second, Limits: relay.Limits{User: 31500 * time.Millisecond}}, []option{
			{"SO_PROTOCOL", unix.SOL_SOCKET, unix.SO_PROTOCOL, unix.IPPROTO_TCP},
			{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 17},
			{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 17},
			{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes},
			{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 31500},
			{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, c.cfg, echoes(t, 1)...)
			for leg, fd := range r.legs(r.connect()) {
				for _, o := range c.want {
					got, err := unix.GetsockoptInt(fd, o.level, o.option)
					if got != o.want || err != nil {
						t.Errorf("%s of the %s is %d, want %d (%v)", o.name, leg, got, o.want, err)
					}
				}
			}
			if n := len(r.log.of("socket option not set")); n != 0 {
				t.Errorf("%d complaints", n)
			}
		})
	}
}

// C100: keepalive is bounded by the system to 32767 seconds.
func TestAnOptionThatCannotBeSetIsSaidOnceAndCostsNoSession(t *testing.T) {
	r := serve(t, Config{KeepAlive: 40000 * time.Second}, echoes(t, 1)...)
	for range 3 {
		expectEcho(t, r.connect(), "x")
	}
	lines := r.log.of("socket option not set")
	if len(lines) != 1 {
		t.Fatalf("logged %v", lines)
	}
	lines[0].expect(t, line{"msg": "socket option not set", "level": "WARN", "service": "svc", "error": "*"})
}
