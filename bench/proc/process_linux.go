package proc

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// bind ties the life of cmd to this process's. The signal is sent when the thread
// that starts cmd ends, so no goroutine may end while locked to its thread.
func bind(cmd *exec.Cmd, parent bool) error {
	death := syscall.SIGKILL
	if parent {
		death = syscall.SIGTERM
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	return nil
}

// killGroup ends what is left of the group.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL) // ESRCH: nothing is left
}

// RaiseFileLimit raises the number of descriptors this process and its children may
// have to what is allowed, and returns it.
func RaiseFileLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	// Go raises its own limit at the start, but gives children the one it found, unless
	// it has been set explicitly.
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	return limit.Cur, nil
}

// portTaken tells whether a listen failed because somebody else listens.
func portTaken(err error) bool { return errors.Is(err, unix.EADDRINUSE) }
