package relay

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// awaitGone looks without taking: what the peer has said is for the backend to come. Its
// end behind that is not seen, its reset is.
func awaitGone(c Conn, spoken bool) bool {
	_, err := peek(c, func(n int) bool { return n == 0 && !spoken || dead(c) })
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// awaitWord takes nothing, an end of stream neither: after that an engine could not tell
// whether a connection that is over had ended in order.
func awaitWord(c Conn, _ []byte) (int, error) {
	n, err := peek(c, func(int) bool { return true })
	switch {
	case n > 0 || err != nil:
		return 0, err
	case hidden(asked{c}, sound):
		return 0, unix.ECONNRESET
	}
	return 0, io.EOF
}

// peek waits until what is there to be read is enough, a byte or an end, or there is an
// error, and returns how much of a byte there is.
func peek(c Conn, enough func(n int) bool) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var b [1]byte
	waited := raw.Read(func(fd uintptr) (done bool) {
		n, _, err = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EAGAIN, err == unix.EINTR:
			return false
		case err != nil:
			return true
		}
		return enough(max(n, 0))
	})
	if waited != nil {
		return 0, waited
	}
	return max(n, 0), err
}
