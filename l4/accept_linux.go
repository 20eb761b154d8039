package l4

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// clientWaits tells whether an accept would find a client. An accept that fails for
// want of a descriptor does not tell: the system looks for that first.
func clientWaits(ln net.Listener) bool {
	conn, ok := ln.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	waits := true
	raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		for err == unix.EINTR {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		}
		waits = n > 0 || err != nil
	})
	return waits
}
