//go:build !linux

package proc

func playRole(string) {}
