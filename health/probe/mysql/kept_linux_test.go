package mysql

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// Nothing is sent over it, so a machine that is gone would never show.
func TestTheKernelWatchesAKeptConnection(t *testing.T) {
	f := freeze(t)
	p := newProber(t, f.endpoint, user).(*prober)
	wantFailure(t, probe(p, moment), noGreeting, "")
	f.thaw <- silent
	raw, err := p.kept.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var on, idle, each, count int
	raw.Control(func(fd uintptr) {
		on, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
		idle, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
		each, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL)
		count, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
	})
	if took := time.Duration(idle+each*count) * time.Second; on == 0 || took <= 0 || took > 10*time.Second {
		t.Errorf("keepalive %d: a dead peer shows after %v", on, took)
	}
}
