//go:build !linux

package l4

import "syscall"

func beforeConnect(_, _ string, _ syscall.RawConn) error { return nil }
