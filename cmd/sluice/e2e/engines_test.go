//go:build linux

package e2e

import (
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// loops is the engine of event loops: what it holds is fixed, so tests can be exact.
const loops = "loops"

// onEngines runs f with each relay engine, both at once.
func onEngines(t *testing.T, f func(t *testing.T, engine string)) {
	for _, engine := range []string{loops, "portable"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f(t, engine)
		})
	}
}

// peers are the handlers of backends in processes of their own.
var peers = map[string]func(net.Conn){"answer": answer, "reset": resetAtOnce, "slow": slowly, "echo": parts.Echo, "pour": func(c net.Conn) { _ = pour(c, nil) }, "pull": pull}

// onEnginesInPrivate is onEngines with a network namespace for each, so that floods take no ports and no memory of
// other tests. The buffers of its sockets are small: a stream that is stuck holds some 100 KB, not some megabytes. The
// packets are those of an Ethernet, for small buffers hold hardly two of loopback's own.
func onEnginesInPrivate(t *testing.T, f func(t *testing.T, engine string)) {
	onEngines(t, func(t *testing.T, engine string) {
		if !inNetns(t) {
			return
		}
		parts.IP(t, "link", "set", "lo", "mtu", "1500")
		for _, buffers := range []string{"tcp_rmem", "tcp_wmem"} {
			parts.Sysctl(t, "ipv4/"+buffers, "4096 65536 262144")
		}
		f(t, engine)
	})
}

// sourceOf spreads clients over loopback addresses, so that no address runs out of ports.
func sourceOf(i int) string { return fmt.Sprintf("127.0.0.%d", 2+i%200) }

// dialSmall connects from source (any if empty) with a receive buffer of a few KB.
func dialSmall(source, addr string) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: parts.Patience, Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { // before the window is offered
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		})
	}}
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}
