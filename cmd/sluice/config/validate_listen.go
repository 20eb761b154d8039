package config

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// reach is which addresses of its port a listener takes.
type reach int

const (
	oneOther reach = iota // one IPv6 address, or a host name of which nothing is known before it is resolved
	oneIPv4
	everyIPv4
	every // IPv6 and IPv4, as :80 and [::]:80 do
)

// String is how messages call what a wildcard takes.
func (r reach) String() string {
	if r == every {
		return "every IPv6 and IPv4 address"
	}
	return "every IPv4 address"
}

// meets returns what another listener of the port cannot be, widest first, unless it has the very same address.
func (r reach) meets() []reach {
	switch r {
	case every:
		return []reach{every, everyIPv4, oneIPv4, oneOther}
	case everyIPv4:
		return []reach{every, everyIPv4, oneIPv4}
	case oneIPv4:
		return []reach{every, everyIPv4}
	}
	return []reach{every}
}

func reachOf(host string) reach {
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil && addr == netip.IPv6Unspecified():
		return every
	case err == nil && addr == netip.IPv4Unspecified():
		return everyIPv4
	case err == nil && addr.Is4(), host == localhost: // Go listens on the first IPv4 address of a name
		return oneIPv4
	}
	return oneOther
}

const localhost = "localhost"

// listener is one that was read.
type listener struct {
	path, address string // the address as it was written
}

// listeners is what is listened on. Listeners of port 0 never meet, so it has none of them.
type listeners struct {
	same  map[string]listener           // by canonical address
	ports map[string]map[reach]listener // the first of each reach, by port
}

func newListeners() *listeners {
	return &listeners{same: map[string]listener{}, ports: map[string]map[reach]listener{}}
}

func (l *listeners) add(canonical string, ln listener) {
	l.same[canonical] = ln
	host, port := splitCanonical(canonical)
	if port == "" {
		return
	}
	if l.ports[port] == nil {
		l.ports[port] = map[reach]listener{}
	}
	if _, taken := l.ports[port][reachOf(host)]; !taken {
		l.ports[port][reachOf(host)] = ln
	}
}

// splitCanonical returns two empty strings for a Unix socket.
func splitCanonical(canonical string) (host, port string) {
	if strings.HasPrefix(canonical, unixPrefix) {
		return "", ""
	}
	host, port, _ = net.SplitHostPort(canonical) // parseAddress has joined them
	return host, port
}

// listen checks the addresses of a service against those before them, and returns them.
func (v *validator) listen(path string, addresses []string, seen *listeners) *listeners {
	if len(addresses) == 0 {
		v.fault(path, "required; write host:port or unix:/PATH, or a list of them")
	}
	own := newListeners()
	for i, address := range addresses {
		at := index(path, i)
		if !v.source.given(at) {
			at = path // the only one, not in a list
		}
		if name, ok := strings.CutPrefix(address, fdPrefix); ok {
			v.passed(at, address, name, seen)
			continue
		}
		canonical, err := parseAddress(address, true)
		if err != nil {
			v.err(at, err)
			continue
		}
		if isPort0(canonical) {
			continue
		}
		v.overlap(at, address, canonical, seen)
		seen.add(canonical, listener{at, address})
		own.add(canonical, listener{at, address})
	}
	return own
}

// passed checks a socket that is passed by name. Where it listens is not known here, so that it meets only itself, and
// is none of a service's own, of which a backend could be one.
func (v *validator) passed(at, address, name string, seen *listeners) {
	if err := checkFDName(name); err != nil {
		v.err(at, err)
		return
	}
	if first, twice := seen.same[address]; twice {
		v.fault(at, "%s is listened on twice%s", quote(address), v.first(first.path))
		return
	}
	seen.same[address] = listener{at, address}
}

// overlap reports a listener whose bind would fail for one before it.
func (v *validator) overlap(at, address, canonical string, seen *listeners) {
	if first, twice := seen.same[canonical]; twice {
		v.fault(at, "%s is listened on twice%s", quote(address), v.first(first.path))
		return
	}
	host, port := splitCanonical(canonical)
	mine := reachOf(host)
	for _, theirs := range mine.meets() {
		first, met := seen.ports[port][theirs]
		switch {
		case !met:
			continue
		case mine > theirs:
			v.fault(at, "%s takes %v, also %s%s; use another port, or only one of them", quote(address), mine, quote(first.address), v.line(first.path))
		default:
			v.fault(at, "%s is taken by %s%s, which takes %v; use another port, or only one of them", quote(address),
				quote(first.address), v.line(first.path), theirs)
		}
		return
	}
}

// line names the line of the value at path, where there are lines.
func (v *validator) line(path string) string {
	if at := v.source.place(path); at.line > 0 {
		return fmt.Sprintf(" of line %d", at.line)
	}
	return ""
}

// loops reports backends that are a listener of their own service.
func (v *validator) loops(path string, backends []Backend, own *listeners) {
	for i := range backends {
		address := backends[i].Address
		canonical, err := parseAddress(address, false)
		if err != nil {
			continue // was reported
		}
		if ln, loop := own.reached(canonical); loop {
			v.fault(join(index(path, i), "address"), "%s is this service itself, which listens on %s%s; it would connect to itself in a loop",
				quote(address), quote(ln.address), v.line(ln.path))
		}
	}
}

// reached returns the listener that a dial from this host certainly ends at, if it is one of them.
func (l *listeners) reached(canonical string) (listener, bool) {
	if ln, ok := l.same[canonical]; ok {
		return ln, true
	}
	host, port := splitCanonical(canonical)
	if !isLoopback(host) {
		return listener{}, false
	}
	if ln, ok := l.ports[port][every]; ok {
		return ln, true
	}
	ln, ok := l.ports[port][everyIPv4]
	return ln, ok && reachOf(host) != oneOther
}

// isLoopback reports whether a dial of host stays on this machine. An address that is all zeros is dialled as loopback.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == localhost || err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}
