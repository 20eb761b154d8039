package ctl

import (
	"os"
	"runtime"
)

// Terminal is for Env.Terminal: it knows the terminals that the process was given. A console
// of Windows may take control sequences or show them, so it counts as none.
func Terminal(stream any) (width, height int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile || runtime.GOOS == "windows" {
		return 0, 0, false
	}
	if width, height, ok = terminalSize(f); ok && (width <= 0 || height <= 0) {
		width, height = 80, 24 // a terminal that does not know, as over a serial line
	}
	return width, height, ok
}
