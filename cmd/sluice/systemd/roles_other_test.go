//go:build !linux

package systemd

func roles() map[string]func() int { return nil }
