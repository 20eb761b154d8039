package l4

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

const mappedBits = 96 // of ::ffff:0:0/96, in which IPv6 holds IPv4

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

// unmapped returns a copy in which prefixes of IPv4-mapped addresses are IPv4's, as
// the addresses are that they are compared with.
func unmapped(prefixes []netip.Prefix) []netip.Prefix {
	prefixes = slices.Clone(prefixes)
	for i, p := range prefixes {
		if p.Addr().Is4In6() && p.Bits() >= mappedBits {
			prefixes[i] = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
		}
	}
	return prefixes
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
