package ctl

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestATerminalTellsItsSize(t *testing.T) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pty.Close()
	for _, c := range []struct{ cols, rows, width, height int }{
		{0, 0, 80, 24}, // it does not know
		{132, 50, 132, 50},
	} {
		raw, err := pty.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(c.cols), Row: uint16(c.rows)})
		})
		if err != nil {
			t.Fatal(err)
		}
		if width, height, ok := Terminal(pty); width != c.width || height != c.height || !ok {
			t.Errorf("%d x %d, %v, want %d x %d", width, height, ok, c.width, c.height)
		}
	}
	pty.Close()
	if _, _, ok := Terminal(pty); ok {
		t.Error("a terminal that is closed has a size")
	}
}
