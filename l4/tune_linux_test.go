package l4

import (
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

func sockopt(t testing.TB, c relay.Conn, level, option int) (value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { value, failed = unix.GetsockoptInt(int(fd), level, option) })
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return value
}

// legs returns the two connections of the one session there is.
func (r *rig) legs() map[string]relay.Conn {
	r.t.Helper()
	if *engineName != "portable" {
		r.t.Skip("this engine takes the connections away")
	}
	r.awaitRelayed(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for sess := range r.sessions {
		return map[string]relay.Conn{"client": sess.relay.Client, "backend": sess.relay.Backend}
	}
	return nil
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
			r.connect()
			for leg, conn := range r.legs() {
				for _, o := range c.want {
					if got := sockopt(t, conn, o.level, o.option); got != o.want {
						t.Errorf("%s of the %s is %d, want %d", o.name, leg, got, o.want)
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
