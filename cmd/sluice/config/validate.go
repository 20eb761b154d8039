package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxBackends of a service keeps maglev's table, whose size is a prime near 65,537, many slots a backend.
const maxBackends = 10_000

// maxServices bounds what `defaults` is copied to.
const maxServices = 10_000

// maxName is the length of a service's or backend's name in characters.
const maxName = 128

// validator checks a filled File. It knows paths only; source says where they are.
type validator struct {
	faults *faultList
	source source
	ca     map[string]error // what is wrong with each CA file looked at
}

// source is where the values of a configuration came from.
type source interface {
	// place returns where the value at path was written, and if nowhere, where its absence is best told.
	place(path string) place
	// label is how a message calls the value at path.
	label(path string) string
	// given reports whether the value at path was written, rather than left to its default.
	given(path string) bool
	// isFile reports whether there is room for all keys, as flags have none for a backend's name.
	isFile() bool
}

func (v *validator) fault(path, format string, args ...any) {
	v.faults.addValue(v.source.place(path), path, v.source.label(path)+": "+fmt.Sprintf(format, args...))
}

// err reports an error of the value at path, if it is one.
func (v *validator) err(path string, err error) {
	if err != nil {
		v.fault(path, "%v", err)
	}
}

// first points to the first of two values that must differ.
func (v *validator) first(path string) string {
	if at := v.source.place(path); at.line > 0 {
		return fmt.Sprintf("; the first is at line %d", at.line)
	}
	return ""
}

// ifFile returns advice for a file, or for flags, which have fewer keys.
func (v *validator) ifFile(file, flags string) string {
	if v.source.isFile() {
		return file
	}
	return flags
}

func (v *validator) oneOf(path, value string, words []string) {
	if !slices.Contains(words, value) {
		v.fault(path, "%s is not known; %s", quote(value), allowed(value, words))
	}
}

func (v *validator) between(path string, n, least, most int) {
	switch {
	case n >= least && n <= most:
	case most == math.MaxInt:
		v.fault(path, "%d is out of range; allowed: %d or more", n, least)
	default:
		v.fault(path, "%d is out of range; allowed: %d to %d", n, least, most)
	}
}

// file checks everything. defaults is what the file's `defaults` made of Defaults.
func (v *validator) file(f *File, defaults *Service) {
	names, listeners := map[string]string{}, newListeners()
	v.log(&f.Log)
	if f.Admin != nil {
		v.admin(f.Admin, listeners)
	}
	v.settings("defaults", defaults)
	if len(f.Services) == 0 {
		v.fault("services", "required; a file has at least one service")
	}
	for i := range f.Services {
		path, s := index("services", i), &f.Services[i]
		v.serviceName(join(path, "name"), s.Name, names)
		own := v.listen(join(path, "listen"), s.Listen, listeners)
		v.backends(join(path, "backends"), s.Backends)
		v.loops(join(path, "backends"), s.Backends, own)
		v.settings(path, s)
		v.checkPort(join(path, "check"), s)
	}
}

func (v *validator) log(l *Log) {
	v.oneOf("log.level", l.Level, []string{"debug", "info", "warn", "error"})
	v.oneOf("log.format", l.Format, []string{"json", "text"})
	v.oneOf("log.sessions", l.Sessions, []string{"all", "errors", "off"})
}

func (v *validator) serviceName(path, name string, seen map[string]string) {
	if name == "" && !v.source.given(path) {
		v.fault(path, "required; every service has one")
		return
	}
	if strings.Contains(name, "/") {
		v.fault(path, "%s has a /, which stands between service and backend in commands", quote(name))
		return
	}
	v.err(path, checkName(name))
	if first, twice := seen[name]; twice {
		v.fault(path, "%s is the name of two services%s", quote(name), v.first(first))
		return
	}
	seen[name] = path
}

// checkName holds what lets a name stand in a log line, a URL and a command without a second thought.
func checkName(name string) error {
	n := utf8.RuneCountInString(name)
	switch {
	case n == 0 || n > maxName:
		return fmt.Errorf("a name of %d characters is not allowed; allowed: 1 to %d", n, maxName)
	case !namePrintable(name):
		return fmt.Errorf("%s has spaces or characters that do not print; allowed: letters, digits and signs", quote(name))
	case name[0] == '-' || name == "." || name == "..":
		return fmt.Errorf("%s would be read as a flag or a path; allowed: not . or .., and no - in front", quote(name))
	}
	return nil
}

func (v *validator) backends(path string, backends []Backend) {
	if len(backends) == 0 {
		v.fault(path, "required; a service has at least one backend")
	}
	if len(backends) > maxBackends {
		v.fault(path, "%d backends are too many; allowed: at most %d", len(backends), maxBackends)
		return
	}
	names, addresses := map[string]string{}, map[string]string{}
	for i := range backends {
		at, b := index(path, i), &backends[i]
		v.backendAddress(at, b.Address, addresses)
		v.backendName(at, b, names)
		v.between(join(at, "weight"), b.Weight, 0, 256)
		v.between(join(at, "priority"), b.Priority, 0, math.MaxInt)
		v.between(join(at, "max_connections"), b.MaxConnections, 0, math.MaxInt)
	}
}

// backendAddress checks an address. Two backends may share one if the second has a name
// of its own: then it is meant, and not written twice.
func (v *validator) backendAddress(backend, address string, seen map[string]string) {
	path := join(backend, "address")
	if address == "" && !v.source.given(path) {
		v.fault(path, "required; write host:port or unix:/PATH")
		return
	}
	canonical, err := parseAddress(address, false)
	if err != nil {
		v.err(path, err)
		return
	}
	if first, twice := seen[canonical]; twice {
		if !v.source.given(join(backend, "name")) {
			v.fault(path, "%s is the address of two backends%s; %s", quote(address), v.first(first),
				v.ifFile("give it a name of its own if that is meant", "write it once"))
		}
		return
	}
	seen[canonical] = path
}

// backendName checks a name, whether given or the address.
func (v *validator) backendName(backend string, b *Backend, seen map[string]string) {
	path, err := join(backend, "name"), checkName(b.Name)
	if !v.source.given(path) {
		path = join(backend, "address")
		if err != nil {
			err = fmt.Errorf("the address cannot be the backend's name too; give it a name%s", v.ifFile("", " in a file"))
		}
	}
	v.err(path, err)
	if first, twice := seen[b.Name]; twice {
		v.fault(path, "%s is the name of two backends%s", quote(b.Name), v.first(first))
		return
	}
	seen[b.Name] = path
}

// settings checks what `defaults` may have too. path is "defaults" or a service's.
func (v *validator) settings(path string, s *Service) {
	v.oneOf(join(path, "balance"), s.Balance, Balances())
	v.oneOf(join(path, "on_down"), s.OnDown, []string{"keep", "close"})
	v.oneOf(join(path, "proxy_protocol.send"), s.ProxyProtocol.Send, []string{"none", "v1", "v2"})
	v.connect(join(path, "connect"), &s.Connect)
	v.timeouts(join(path, "timeouts"), &s.Timeouts)
	v.check(join(path, "check"), &s.Check)
	v.between(join(path, "passive.failures"), s.Passive.Failures, 0, math.MaxInt)
	if s.Passive.Eject > time.Minute {
		v.fault(join(path, "passive.eject"), "%s is too long; allowed: 0s to 1m", formatDuration(s.Passive.Eject))
	}
	v.between(join(path, "limits.connections"), s.Limits.Connections, 0, math.MaxInt)
	v.between(join(path, "limits.per_source"), s.Limits.PerSource, 0, math.MaxInt)
	v.between(join(path, "limits.rate_per_source"), s.Limits.RatePerSource, 0, math.MaxInt)
}

func (v *validator) connect(path string, c *Connect) {
	v.between(join(path, "attempts"), c.Attempts, 0, math.MaxInt)
	v.between(join(path, "replay"), c.Replay, 0, math.MaxInt)
}

// timeouts checks what the kernel would refuse, when a session starts, of its socket options.
func (v *validator) timeouts(path string, t *Timeouts) {
	// TCP_KEEPIDLE and TCP_KEEPINTVL are whole seconds, at most MAX_TCP_KEEPIDLE of linux/include/net/tcp.h.
	if k := t.Keepalive; k != 0 && (k < time.Second || k > 32767*time.Second) {
		v.fault(join(path, "keepalive"), "%s is out of range; allowed: 1s to 32767s, or 0s to turn it off", formatDuration(k))
	}
	// TCP_USER_TIMEOUT is an int of milliseconds.
	if u := t.User; u != 0 && (u < time.Millisecond || u > math.MaxInt32*time.Millisecond) {
		v.fault(join(path, "user"), "%s is out of range; allowed: 1ms to 596h, or 0s to turn it off", formatDuration(u))
	}
}

// Balances returns the names of the balancing policies, in the order of the documentation.
func Balances() []string {
	return []string{"round-robin", "least-conn", "p2c", "random", "source-hash", "maglev", "first"}
}
