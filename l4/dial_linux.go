package l4

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func beforeConnect(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		// Worth no error: without it a port may stay blocked for a minute, in a rare case.
		unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
}
