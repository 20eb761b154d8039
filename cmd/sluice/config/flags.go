package config

import (
	"slices"
	"strings"
)

// Flags is what `sluice run` takes in place of a file. An empty field leaves its default.
type Flags struct {
	Listen      []string
	Balance     string
	Check       string // the type; the rest of the check is its default
	SendProxy   string
	Admin       string
	LogSessions string
	Backends    []string // the arguments
}

// FlagsService is the name of the one service that flags describe.
const FlagsService = "default"

// FromFlags returns the configuration that flags describe, under the rules of a file. Its Faults name the flag, and
// BACKEND for a backend, in place of a line.
func FromFlags(flags Flags) (File, error) {
	f, s := fileDefaults(), Defaults()
	s.Name = FlagsService
	s.Listen = slices.Clone(flags.Listen)
	for _, address := range flags.Backends {
		b := backendDefaults()
		b.Address, b.Name = address, address
		s.Backends = append(s.Backends, b)
	}
	set(&s.Balance, flags.Balance)
	set(&s.ProxyProtocol.Send, flags.SendProxy)
	set(&f.Log.Sessions, flags.LogSessions)
	if flags.Check != "" {
		s.Check = s.Check.retyped(flags.Check)
	}
	if flags.Admin != "" {
		f.Admin = &Admin{Listen: flags.Admin}
	}
	f.Services = []Service{s}

	faults, builtIn := newFaultList(""), Defaults()
	v := &validator{faults: faults, source: flagSource{}, ca: map[string]error{}}
	v.file(&f, &builtIn)
	if err := faults.err(); err != nil {
		return File{}, err
	}
	return f, nil
}

func set(v *string, flag string) {
	if flag != "" {
		*v = flag
	}
}

// flagSource says which flag a value came from.
type flagSource struct{}

func (flagSource) place(string) place {
	return place{}
}

func (flagSource) label(path string) string {
	for _, f := range []struct{ path, flag string }{
		{"services[0].listen", "--listen"},
		{"services[0].balance", "--balance"},
		{"services[0].check", "--check"},
		{"services[0].proxy_protocol", "--send-proxy"},
		{"services[0].backends", "BACKEND"},
		{"admin", "--admin"},
		{"log.sessions", "--log-sessions"},
	} {
		if strings.HasPrefix(path, f.path) {
			return f.flag
		}
	}
	return label(path)
}

// isFile is false: a backend among the arguments is its address and no more.
func (flagSource) isFile() bool {
	return false
}

// given reports values that stand in a list as written by the user, and backends' names as not: they are addresses.
func (flagSource) given(path string) bool {
	return strings.HasSuffix(path, "]") || strings.HasSuffix(path, ".address")
}
