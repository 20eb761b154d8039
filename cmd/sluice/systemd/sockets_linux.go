package systemd

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// isListening returns ErrNotListening for what clients cannot connect to: a datagram socket, a FIFO, or the connection of a
// unit with Accept=yes.
func isListening(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	var kind, listening int
	var kindErr, listeningErr error
	if err := raw.Control(func(fd uintptr) {
		kind, kindErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE)
		listening, listeningErr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	}); err != nil {
		return fmt.Errorf("systemd: %w", err)
	}
	if kindErr != nil || listeningErr != nil || kind != unix.SOCK_STREAM || listening == 0 {
		return ErrNotListening
	}
	return nil
}
