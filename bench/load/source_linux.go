package load

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// latePort puts the choice of a port off to the connect, which may take one that is in
// TIME_WAIT or serves another peer; a bind may not (IP_BIND_ADDRESS_NO_PORT, ip(7)).
func latePort(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); e != nil {
		return e
	}
	return err
}
