//go:build !linux

package relay

// place is for Loops, which are not to be had here.
type place struct{}
