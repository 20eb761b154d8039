//go:build !linux

package ctl

import "os"

// terminalSize knows that it is a terminal, but not how large.
func terminalSize(f *os.File) (width, height int, ok bool) {
	info, err := f.Stat()
	return 0, 0, err == nil && info.Mode()&os.ModeCharDevice != 0
}
