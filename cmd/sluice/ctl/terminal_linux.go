package ctl

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize asks the kernel: only a terminal has a size.
func terminalSize(f *os.File) (width, height int, ok bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var size *unix.Winsize
	// Control keeps the descriptor as it is; Fd would make it blocking.
	asked := raw.Control(func(fd uintptr) { size, err = unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ) })
	if asked != nil || err != nil {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}
