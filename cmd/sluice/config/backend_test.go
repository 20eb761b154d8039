package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestABackendThatJoinsIsHeldToTheRulesOfTheFile(t *testing.T) {
	s := Defaults()
	s.Listen = []string{"127.0.0.1:80", ":81", "unix:/run/own.sock", "fd:x", "127.0.0.1:0"}
	ported := s
	ported.Check.Port = 9
	full := s
	full.Backends = make([]Backend, maxBackends)
	good := Backend{Address: "10.0.0.1:1", Name: "b", Weight: 1}
	with := func(change func(*Backend)) Backend {
		b := good
		change(&b)
		return b
	}
	at := func(address string) Backend { return with(func(b *Backend) { b.Address = address }) }
	for _, c := range []struct {
		name string
		to   Service
		b    Backend
		want string // "" = it may join
	}{
		{"as the file has them", s, good, ""},
		{"weight 0", s, with(func(b *Backend) { b.Weight = 0 }), ""},
		{"a unix socket", s, at("unix:/run/x.sock"), ""},
		{"another port of this host", s, at("127.0.0.1:82"), ""},
		{"no address", s, at(""), "address: "},
		{"no port", s, at("10.0.0.1"), "address: "},
		{"port 0", s, at("10.0.0.1:0"), "address: "},
		{"a passed socket", s, at("fd:x"), "address: "},
		{"a listener of the service", s, at("127.0.0.1:80"), `address: "127.0.0.1:80" is this service itself, which listens on "127.0.0.1:80"`},
		{"one on every address", s, at("127.9.9.9:81"), `which listens on ":81"; it would connect to itself in a loop`},
		{"one on a unix socket", s, at("unix:/run/own.sock"), "is this service itself"},
		{"a unix socket where the check has a port", ported, at("unix:/run/x.sock"), "the service's check has a port"},
		{"a name with a space", s, with(func(b *Backend) { b.Name = "a b" }), "name: "},
		{"no name", s, with(func(b *Backend) { b.Name = "" }), "name: "},
		{"a weight below", s, with(func(b *Backend) { b.Weight = -1 }), "weight: -1; allowed: 0 (no new sessions) to 256"},
		{"a weight above", s, with(func(b *Backend) { b.Weight = 257 }), "weight: 257"},
		{"a priority below", s, with(func(b *Backend) { b.Priority = -1 }), "priority: -1; allowed: 0 or more"},
		{"a limit below", s, with(func(b *Backend) { b.MaxConnections = -1 }), "max_connections: -1; allowed: 0 (no limit) or more"},
		{"one too many", full, good, "backends: 10000 are there already"},
	} {
		got := fmt.Sprint(CheckBackend(c.to, c.b))
		if c.want == "" && got != "<nil>" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
	}
	if err := CheckBackend(s, Backend{Weight: -1}); strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not all that is wrong is told: %v", err)
	}
}
