package relay

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitGone looks without taking: what the peer has said is for the backend to come. Its
// end behind that is not seen, its reset is.
func awaitGone(c Conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	var b [1]byte
	left := raw.Read(func(fd uintptr) (done bool) {
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch err {
		case nil:
			return n == 0 || dead(c)
		case unix.EAGAIN, unix.EINTR:
			return false
		}
		return true
	})
	return left == nil || !errors.Is(left, os.ErrDeadlineExceeded)
}
