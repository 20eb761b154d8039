package relay

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeoutOf reads TCP_USER_TIMEOUT back.
func userTimeoutOf(t *testing.T, fd int32) time.Duration {
	t.Helper()
	ms, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	if err != nil {
		t.Error(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// peerOfConn returns the descriptor in this process at the other end of c, whoever has it.
func peerOfConn(t *testing.T, c Conn) int32 {
	t.Helper()
	local, remote := c.LocalAddr().String(), c.RemoteAddr().String()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fd, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		var peer rawAddress
		if localAddress(int32(fd)).String() == remote && peerOf(int32(fd), &peer) == 0 && peer.get().String() == local {
			return int32(fd)
		}
	}
	t.Fatalf("nobody has the other end of %s", local)
	return none
}

func TestTheUserTimeoutIsBackWhenTheReaderHasCaughtUp(t *testing.T) {
	const timeout = 600 * time.Millisecond
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		l := limited(t, e, timeout, 4<<10)
		s := l.side(who)
		eventually(t, "the engine to have the sockets", func() bool { return l.run != nil || l.Ends.Client == nil })
		towards, back := peerOfConn(t, s.far), peerOfConn(t, s.near) // the relay's own ends
		var off int64
		for range 2 { // it may pause again
			const n = 64 << 10
			if got := userTimeoutOf(t, towards); got != timeout {
				t.Fatalf("user timeout %v before the pause", got)
			}
			if err := flowOf(s.dir).send(s.near, off, n, 1<<10); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the user timeout to be lifted", func() bool { return userTimeoutOf(t, towards) == 0 })
			if got := userTimeoutOf(t, back); got != timeout {
				t.Errorf("user timeout %v of the other end", got)
			}
			if err := flowOf(s.dir).expect(s.far, off, n); err != nil {
				t.Fatal(err)
			}
			off += n
			eventually(t, "the user timeout to be restored", func() bool { return userTimeoutOf(t, towards) == timeout })
		}
	})
}
