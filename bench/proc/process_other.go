//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

func bind(*exec.Cmd, bool) error { return unsupported() }

func killGroup(int) {}

// RaiseFileLimit wraps errors.ErrUnsupported.
func RaiseFileLimit() (uint64, error) { return 0, unsupported() }

func portTaken(error) bool { return false }

func unsupported() error {
	return fmt.Errorf("proc: measuring processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
