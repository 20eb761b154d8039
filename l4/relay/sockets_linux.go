package relay

import (
	"time"

	"golang.org/x/sys/unix"
)

// apply sets the options on a TCP socket. A socket that is accepted inherits them from
// the listening one.
func (o Sockets) apply(fd int32) error {
	errno := setOption(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	set := func(level, option, value int) {
		if e := setOption(fd, level, option, value); errno == 0 {
			errno = e
		}
	}
	if seconds := roundUp(o.KeepAlive, time.Second); seconds > 0 {
		set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
		set(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
		set(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds)
		set(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, o.Probes)
	}
	if o.User > 0 {
		set(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(o.User.Milliseconds()))
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// roundUp returns d in whole units.
func roundUp(d, unit time.Duration) int { return int((d + unit - 1) / unit) }
