package health

import "syscall"

// resetOnClose has a close of the socket be a reset, before it is connected.
func resetOnClose(_, _ string, c syscall.RawConn) error {
	// Without it the probe works just as well, and only a port may be blocked for a while.
	c.Control(func(fd uintptr) {
		syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	})
	return nil
}
