package relay

import (
	"strings"

	"golang.org/x/sys/unix"
)

// On loopback there is no path to find a rate for, yet a system whose congestion control
// is BBR paces there too: a timer for nearly every segment, which is half of what bulk
// costs. A socket that has asked for Reno before it is connected is not paced. Any
// process may ask for that, and any kernel has it.
const unpacedControl = "reno"

// paces tells whether the system's congestion control paces.
func paces() bool {
	fd, errno := newSocket(unix.AF_INET)
	if errno != 0 {
		return false
	}
	defer closeNow(fd, false)
	name, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return err == nil && strings.HasPrefix(name, "bbr")
}

// unpace is for a socket that is not connected yet, or a listening one, on loopback.
// It may fail: then the socket is paced.
func unpace(fd int32) {
	unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, unpacedControl)
}
