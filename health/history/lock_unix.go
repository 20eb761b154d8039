//go:build unix

package history

import (
	"errors"
	"os"
	"syscall"
)

// lockExclusively locks a file until it is closed, or the process ends.
func lockExclusively(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errInUse
	}
	return err
}
