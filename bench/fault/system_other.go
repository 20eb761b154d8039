//go:build !linux

package fault

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
)

func monotonic() int64 { return 0 }

func arrived(*net.TCPConn) time.Duration { return 0 }

func finish(ln *net.TCPListener) ([]*net.TCPConn, error) { return nil, ln.Close() }

func deafen(syscall.Conn) error { return unsupported() }

func undeafen(syscall.Conn) error { return unsupported() }

func terminate(int) error { return unsupported() }

func stop(int) error { return unsupported() }

func cont(int) error { return unsupported() }

func stopped(int) (bool, error) { return false, unsupported() }

func unsupported() error {
	return fmt.Errorf("breaking backends on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
