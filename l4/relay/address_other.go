//go:build !linux

package relay

import "net/netip"

// rawAddress is for Loops, which are not to be had here.
type rawAddress struct{}

func (rawAddress) set(netip.AddrPort, string) bool { return true }
