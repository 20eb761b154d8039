package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// Sleep is like time.Sleep, but exact to some ten microseconds where the runtime's
// timers, which wait in epoll, may be late by a millisecond.
func Sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal may cut it short
}
