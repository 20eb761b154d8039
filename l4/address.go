package l4

import (
	"net"
	"net/netip"
	"strings"
)

// splitAddress turns the address of a configuration into what package net takes.
func splitAddress(s string) (network, address string) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		return "unix", path
	}
	return "tcp", s
}

// addrPort returns the IP address and port of a TCP address, IPv4 as IPv4 even on a
// dual-stack socket; the zero AddrPort for any other.
func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// contains tells whether any prefix holds a. Zones do not matter.
func contains(prefixes []netip.Prefix, a netip.Addr) bool {
	a = a.WithZone("")
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
