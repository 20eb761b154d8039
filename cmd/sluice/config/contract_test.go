package config

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// contract returns the sample file every key of which is promised to users.
func contract(t testing.TB) []byte {
	src, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestContractSampleIsTheDefaults(t *testing.T) {
	got, err := Parse("sluice.yaml", contract(t))
	if err != nil {
		t.Fatal(err)
	}
	s := Defaults()
	s.Name, s.Listen = "redis", []string{"127.0.0.1:6379"}
	s.Backends = []Backend{
		{Address: "10.0.0.1:6379", Name: "10.0.0.1:6379", Weight: 1},
		{Address: "10.0.0.2:6379", Name: "b2", Weight: 3, MaxConnections: 500},
	}
	want := File{
		Admin:           &Admin{Listen: "127.0.0.1:9090"},
		Log:             Log{Level: "info", Format: "json", Sessions: "errors"},
		ShutdownTimeout: 30 * time.Second,
		Services:        []Service{s},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Whoever adds a field and forgets its key gets a file that silently cannot set it.
func TestEveryFieldHasAKey(t *testing.T) {
	for section, b := range docBlocks() {
		v := reflect.ValueOf(b).Elem()
		if r, ok := b.(*root); ok {
			v = reflect.ValueOf(r.File).Elem()
		}
		var pointers []uintptr
		for _, k := range b.keys() {
			pointers = append(pointers, reflect.ValueOf(k.value).Pointer())
		}
		for i := range v.NumField() {
			if !slices.Contains(pointers, v.Field(i).Addr().Pointer()) {
				t.Errorf("%s: field %s has no key", section, v.Type().Field(i).Name)
			}
		}
	}
}

func TestEveryKeyOfTheContractIsKnown(t *testing.T) {
	sample := string(contract(t))
	added := []string{"steps", "drain_timeout", "shutdown_delay", "cert", "client_ca"} // since
	for section, b := range docBlocks() {
		for _, k := range b.keys() {
			if !strings.Contains(sample, k.name) && !slices.Contains(added, k.name) {
				t.Errorf("%s: key %s is not in the contract", section, k.name)
			}
		}
	}
}

func TestEveryCheckOfTheContract(t *testing.T) {
	for _, c := range []struct{ check, fault string }{
		{"type: redis, user: u, password: env:P, role: master, conflict: none, tls: {}", ""},
		{"type: redis, password: p, role: replica", ""},
		{"type: redis, user: u", `user: has no password; set password too`},
		{"type: redis, conflict: none", `conflict: is for checks that ask for the one that takes writes; write role: master too, or leave it out`},
		{"type: postgres, user: u, password: p, database: d, role: primary, conflict: first", ""},
		{"type: postgres, tls: {}", ""},
		{"type: postgres, role: primary", `role: needs a user to log in as; set user`},
		{"type: postgres, database: d", `database: needs a user to log in as; set user`},
		{"type: postgres, user: u, role: replica, conflict: keep", `conflict: is for checks that ask`},
		{"type: mysql, user: u, password: file:p, role: replica", ""},
		{"type: mysql, password: p", `password: needs a user to log in as; set user`},
		{"type: mysql, tls: {}", `tls: needs a user to log in as: MySQL begins TLS with the login; set user`},
		{`type: send-expect, send: "PING\\r\\n", expect: "+PONG"`, ""},
		{`type: send-expect, regexp: "^\\+PONG"`, ""},
		{`type: send-expect, regexp: ".*"`, `regexp: ".*" is content with no answer at all; write what has to come`},
		{`type: send-expect, steps: [{expect: "220 "}, {send: "QUIT\\r\\n", regexp: "^221 "}]`, ""},
		{`type: send-expect, steps: [{expect: "220 "}, {}]`, `steps: send-expect does nothing without`},
		{`type: send-expect, steps: [{expect: "a", regexp: "a"}]`, `regexp: cannot stand beside expect`},
		{`type: send-expect, send: a, steps: [{expect: "b"}]`, `steps: cannot stand beside send, expect and regexp`},
		{`type: send-expect, steps: {expect: "b"}`, `steps: must be a list`},
		{`type: tcp, steps: [{expect: "b"}]`, `steps: not for type tcp; it is for type send-expect`},
		{`type: send-expect`, `type: send-expect does nothing without one of send, expect and regexp`},
	} {
		_, err := Parse("f", []byte("services: [{name: a, listen: ':1', backends: [b:1], check: {"+c.check+"}}]"))
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.check, err, c.fault)
		}
	}
}
