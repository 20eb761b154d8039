package config

import (
	"reflect"
	"testing"
	"time"
)

func parse(t *testing.T, src string) File {
	t.Helper()
	f, err := Parse("f", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The order of keys in the file must not matter, so services stand first here.
const inheriting = `
services:
  - {name: plain, listen: ":1", backends: [b:1]}
  - name: own
    listen: ":2"
    backends: [b:1]
    connect: {attempts: 1}
    allow: [192.0.2.0/24]
    check: {path: /own, tls: {insecure: true}}
  - {name: tcp, listen: ":3", backends: [b:1], check: {type: tcp, fall: 9}, allow: []}
  - {name: http, listen: ":4", backends: [b:1], check: {type: http}}
defaults:
  balance: least-conn
  connect: {timeout: 1s, attempts: 7}
  allow: [10.0.0.0/8, 127.0.0.1]
  check: {type: http, path: /all, interval: 9s, port: 81, tls: {server_name: n}}
`

func TestServicesInheritDefaultsKeyByKey(t *testing.T) {
	f := parse(t, inheriting)
	for i, want := range []struct {
		balance  string
		timeout  time.Duration
		attempts int
		allow    int
		check    Check
		tls      *TLS
	}{
		{"least-conn", time.Second, 7, 2, Check{Type: "http", Fall: 3, Path: "/all", Method: "GET", Status: "200-399"}, &TLS{ServerName: "n"}},
		{"least-conn", time.Second, 1, 1, Check{Type: "http", Fall: 3, Path: "/own", Method: "GET", Status: "200-399"}, &TLS{ServerName: "n", Insecure: true}},
		{"least-conn", time.Second, 7, 0, Check{Type: "tcp", Fall: 9}, nil},
		{"least-conn", time.Second, 7, 2, Check{Type: "http", Fall: 3, Path: "/all", Method: "GET", Status: "200-399"}, &TLS{ServerName: "n"}},
	} {
		s := f.Services[i]
		if s.Balance != want.balance || s.Connect.Timeout != want.timeout || s.Connect.Attempts != want.attempts || len(s.Allow) != want.allow {
			t.Errorf("%s: got %+v", s.Name, s)
		}
		if (s.Check.TLS == nil) != (want.tls == nil) || want.tls != nil && *s.Check.TLS != *want.tls {
			t.Errorf("%s: got tls %+v, want %+v", s.Name, s.Check.TLS, want.tls)
		}
		want.check.Interval, want.check.Timeout, want.check.Rise, want.check.Port = 9*time.Second, time.Second, 2, 81
		s.Check.TLS = nil
		if !reflect.DeepEqual(s.Check, want.check) {
			t.Errorf("%s: got check %+v, want %+v", s.Name, s.Check, want.check)
		}
	}
}

func TestServicesHaveTheirOwnTLS(t *testing.T) {
	f := parse(t, inheriting)
	if f.Services[0].Check.TLS == f.Services[3].Check.TLS {
		t.Error("two services share what a third could change")
	}
}

func TestTypeOfAnotherCheckStartsFromItsOwnDefaults(t *testing.T) {
	f := parse(t, "defaults: {check: {interval: 9s}}\nservices: ["+one+"check: {type: http, rise: 1}}]")
	want := Check{
		Type: "http", Interval: 9 * time.Second, Timeout: time.Second, Rise: 1, Fall: 3,
		Method: "GET", Path: "/health", Status: "200-399",
	}
	if got := f.Services[0].Check; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestKeyOfTheDefaultsTypeIsRefusedForAnother(t *testing.T) {
	_, err := Parse("f", []byte("defaults: {check: {type: http}}\nservices:\n  - "+one+"check: {type: tcp, path: /x}}"))
	want := "f:3:71: path: not for type tcp; it is for type http"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
