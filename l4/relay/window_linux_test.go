package relay

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeoutOf reads TCP_USER_TIMEOUT back.
func userTimeoutOf(t *testing.T, c Conn) (timeout time.Duration) {
	t.Helper()
	control(c, func(d descriptor) {
		ms, err := unix.GetsockoptInt(d.fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if err != nil {
			t.Error(err)
		}
		timeout = time.Duration(ms) * time.Millisecond
	})
	return timeout
}

func TestTheUserTimeoutIsBackWhenTheReaderHasCaughtUp(t *testing.T) {
	const timeout = 600 * time.Millisecond
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		t.Parallel()
		l := limited(t, e, timeout, 4<<10)
		if l.Client == nil {
			t.Skip("this engine takes the connections away")
		}
		s := l.side(who)
		towards, back := l.Backend, l.Client // the relay's own ends
		if who == Backend {
			towards, back = back, towards
		}
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
