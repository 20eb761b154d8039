package config

import (
	"errors"
	"fmt"
	"strings"
)

// CheckBackend tells what is wrong with a backend that is to join those of s and does not come
// from a file, under the rules of one: b has a name, and s is right without it. One more of
// the same name is not looked for.
func CheckBackend(s Service, b Backend) error {
	var errs []error
	wrong := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf(key+": "+format, args...))
	}
	if err := checkJoining(s, b.Address); err != nil {
		wrong("address", "%w", err)
	}
	if err := checkName(b.Name); err != nil {
		wrong("name", "%w", err)
	}
	if b.Weight < 0 || b.Weight > 256 {
		wrong("weight", "%d; allowed: 0 (no new sessions) to 256", b.Weight)
	}
	if b.Priority < 0 {
		wrong("priority", "%d; allowed: 0 or more", b.Priority)
	}
	if b.MaxConnections < 0 {
		wrong("max_connections", "%d; allowed: 0 (no limit) or more", b.MaxConnections)
	}
	if len(s.Backends) >= maxBackends {
		wrong("backends", "%d are there already; allowed: at most %d", len(s.Backends), maxBackends)
	}
	return errors.Join(errs...)
}

// checkJoining checks an address, alone and with the listeners and the check of a service.
func checkJoining(s Service, address string) error {
	canonical, err := parseAddress(address, false)
	if err != nil {
		return err
	}
	if s.Check.Port != 0 && s.Check.Type != "none" && strings.HasPrefix(address, unixPrefix) {
		return fmt.Errorf("%s is a unix socket, and the service's check has a port: a unix socket has none", quote(address))
	}
	own := newListeners()
	for _, l := range s.Listen {
		if c, err := parseAddress(l, true); err == nil && !isPort0(c) {
			own.add(c, listener{address: l})
		}
	}
	if ln, loop := own.reached(canonical); loop {
		return fmt.Errorf("%s is this service itself, which listens on %s; it would connect to itself in a loop", quote(address), quote(ln.address))
	}
	return nil
}
