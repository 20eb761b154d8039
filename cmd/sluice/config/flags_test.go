package config

import (
	"reflect"
	"testing"
)

func TestFlagsMakeOneService(t *testing.T) {
	got, err := FromFlags(Flags{
		Listen: []string{":6379", "unix:/run/x", "fd:web"}, Balance: "least-conn", Check: "http", SendProxy: "v2", LogSessions: "all",
		Admin:    "unix:/run/admin",
		Backends: []string{"10.0.0.1:6379", "[2001:db8::1]:6379"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
admin: {listen: "unix:/run/admin"}
log: {sessions: all}
services:
  - name: default
    listen: [":6379", "unix:/run/x", "fd:web"]
    balance: least-conn
    backends: [10.0.0.1:6379, "[2001:db8::1]:6379"]
    check: {type: http}
    proxy_protocol: {send: v2}
`)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	roundTrip(t, got)
}

func TestFlagsLeftOutAreDefaults(t *testing.T) {
	got, err := FromFlags(Flags{Listen: []string{":1"}, Backends: []string{"b:1"}})
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, "services: [{name: default, listen: ':1', backends: [b:1]}]")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestFaultsNameTheFlag(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags Flags
		want  string
	}{
		{"nothing", Flags{}, `--listen: required; write host:port or unix:/PATH, or a list of them
BACKEND: required; a service has at least one backend`},
		{"everything", Flags{
			Listen: []string{"x", ":1", ":1", "fd:a"}, Balance: "rr", Check: "htpp", SendProxy: "3", Admin: "x", LogSessions: "none",
			Backends: []string{"a", ":1", "b:1", "b:1", "unix:/x y"},
		}, `--log-sessions: "none" is not known; allowed: all, errors, off
--admin: "x" has no port; write HOST:PORT, [IPV6]:PORT or unix:/PATH
--listen: "x" has no port; write HOST:PORT, [IPV6]:PORT or unix:/PATH
--listen: ":1" is listened on twice
BACKEND: "a" has no port; write HOST:PORT, [IPV6]:PORT or unix:/PATH
BACKEND: ":1" has no host; write HOST:1
BACKEND: "b:1" is the address of two backends; write it once
BACKEND: the address cannot be the backend's name too; give it a name in a file
--balance: "rr" is not known; allowed: round-robin, least-conn, p2c, random, source-hash, maglev, first
--send-proxy: "3" is not known; allowed: none, v1, v2
--check: "htpp" is not known; allowed: tcp, http, redis, postgres, mysql, send-expect, none (did you mean "http"?)`},
		{"admin page for everybody", Flags{Listen: []string{"127.0.0.1:1"}, Admin: ":9", Backends: []string{"b:1"}},
			`--admin: ":9" can be reached from other machines; write 127.0.0.1:PORT or unix:PATH, or use a file, which can ask for a token`},
		{"admin page in the way", Flags{Listen: []string{":9"}, Admin: "127.0.0.1:9", Backends: []string{"b:1"}},
			`--listen: ":9" takes every IPv6 and IPv4 address, also "127.0.0.1:9"; use another port, or only one of them`},
		{"overlap and loop", Flags{Listen: []string{":1", "127.0.0.1:1", ":0", ":0"}, Backends: []string{"localhost:1", "b:1"}},
			`--listen: "127.0.0.1:1" is taken by ":1", which takes every IPv6 and IPv4 address; use another port, or only one of them
BACKEND: "localhost:1" is this service itself, which listens on ":1"; it would connect to itself in a loop`},
		{"star", Flags{Listen: []string{"*:1"}, Backends: []string{"*:1"}}, `--listen: "*" is not a host; write ":1" for every address
BACKEND: "*:1" has no host; write HOST:1`},
		{"bytes", Flags{Listen: []string{":1"}, Backends: []string{"unix:/\xff"}}, `BACKEND: the path "/\xff" has control characters`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromFlags(c.flags)
			if err == nil || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func TestFlagsAreNotKept(t *testing.T) {
	listen := []string{":1"}
	f, err := FromFlags(Flags{Listen: listen, Backends: []string{"b:1"}})
	if err != nil {
		t.Fatal(err)
	}
	listen[0] = ":2"
	if f.Services[0].Listen[0] != ":1" {
		t.Error("the file changed with the flags")
	}
}
