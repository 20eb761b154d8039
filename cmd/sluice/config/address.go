package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	unixPrefix = "unix:"
	fdPrefix   = "fd:"
)

// maxUnixPath is what fits into sockaddr_un of Linux with the final zero, unix(7).
const maxUnixPath = 107

// parseAddress checks a host:port or unix:PATH and returns it in the one form that equal addresses share. Where
// listening is true, the host may be empty and the port 0.
func parseAddress(s string, listening bool) (string, error) {
	if path, ok := strings.CutPrefix(s, unixPrefix); ok {
		return s, checkUnixPath(path)
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", notAnAddress(s)
	}
	n, err := parsePort(port, listening)
	if err != nil {
		return "", err
	}
	switch {
	case s[0] == ':' && listening:
		host = "::" // what an empty host means to Go: every address, IPv6 and IPv4
	case host == "*" && listening:
		return "", errors.New(noStar(port))
	case s[0] == ':' || host == "*":
		return "", fmt.Errorf("%s has no host; write HOST:%s", quote(s), port)
	default:
		if host, err = canonicalHost(host, s[0] == '['); err != nil {
			return "", err
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(n)), nil
}

// noStar is the message about *:80.
func noStar(port string) string {
	return fmt.Sprintf(`"*" is not a host; write ":%s" for every address`, port)
}

// isPort0 reports whether the system picks the port of a canonical listen address.
func isPort0(canonical string) bool {
	return strings.HasSuffix(canonical, ":0") && !strings.HasPrefix(canonical, unixPrefix)
}

func checkUnixPath(path string) error {
	switch {
	case path == "":
		return errors.New("unix: has no path; write unix:/PATH")
	case len(path) > maxUnixPath:
		return fmt.Errorf("the path of a unix socket has %d bytes; allowed: at most %d", len(path), maxUnixPath)
	case !printable(path):
		return fmt.Errorf("the path %s has control characters", quote(path))
	}
	return nil
}

// maxFDName is the longest name that systemd gives a descriptor, FDNAME_MAX of its sources.
const maxFDName = 255

// checkFDName checks the name of a socket that is passed to the process. A colon stands between names there.
func checkFDName(name string) error {
	switch {
	case name == "":
		return errors.New("fd: has no name; write fd:NAME, NAME being the socket's FileDescriptorName=")
	case len(name) > maxFDName:
		return fmt.Errorf("the name of a passed socket has %d bytes; allowed: at most %d", len(name), maxFDName)
	case !graphic(name) || strings.Contains(name, ":"):
		return fmt.Errorf("%s is not the name of a passed socket; allowed: visible ASCII characters but the colon", quote(name))
	}
	return nil
}

func notAnAddress(s string) error {
	const form = "write HOST:PORT, [IPV6]:PORT or unix:/PATH"
	addr, err := netip.ParseAddr(s)
	_, portErr := parsePort(s, true)
	switch {
	case strings.Contains(s, "://"):
		return fmt.Errorf("%s is a URL; %s", quote(s), form)
	case err == nil && addr.Is6():
		return fmt.Errorf("%s is an IPv6 address without brackets; write it like [::1]:6379", quote(s))
	case portErr == nil:
		return fmt.Errorf("%s is only a port; write HOST:%s, or :%s to listen on every address", quote(s), s, s)
	case s != "" && (strings.HasSuffix(s, "]") || !strings.Contains(s, ":")):
		return fmt.Errorf("%s has no port; %s", quote(s), form)
	}
	return fmt.Errorf("%s is not an address; %s", quote(s), form)
}

func parsePort(s string, zero bool) (int, error) {
	n, err := parseInt(s)
	least := 1
	if zero {
		least = 0
	}
	if err != nil || n < least || n > 65535 {
		return 0, fmt.Errorf("port %s is not allowed; allowed: %d to 65535", quote(s), least)
	}
	return n, nil
}

// canonicalHost checks a host name or address without its brackets.
func canonicalHost(host string, brackets bool) (string, error) {
	addr, err := netip.ParseAddr(host)
	switch {
	case brackets && (err != nil || !addr.Is6()):
		return "", fmt.Errorf("%s is not an IPv6 address", quote("["+host+"]"))
	case brackets && !namePrintable(addr.Zone()):
		return "", fmt.Errorf("the zone of %s has characters no interface name has", quote(host))
	case err == nil:
		return addr.Unmap().String(), nil // ::ffff:192.0.2.1 is bound and dialled as IPv4
	case !isHostName(host):
		return "", fmt.Errorf("host %s is neither an IP address nor a host name", quote(host))
	}
	return strings.ToLower(host), nil
}

// isHostName follows RFC 1123, with the underscore that container networks use. A last label of digits alone is an
// IPv4 address that went wrong.
func isHostName(s string) bool {
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !isAlphanumeric(c) && c != '-' && c != '_' {
				return false
			}
		}
	}
	return len(s) <= 253 && strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// printable reports whether s can stand in a log line or a terminal as it is.
func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// namePrintable is printable without spaces.
func namePrintable(s string) bool {
	return printable(s) && !strings.Contains(s, " ")
}
