package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// keysOf returns the differences of two checks of one service, as KEY: FROM -> TO.
func keysOf(t *testing.T, from, to string) []string {
	t.Helper()
	var all []string
	for _, d := range Differences(checked(t, from), checked(t, to)) {
		all = append(all, fmt.Sprintf("%s: %s -> %s", d.Key, d.From, d.To))
	}
	return all
}

func checked(t *testing.T, check string) Service {
	t.Helper()
	f, err := Parse("f", []byte("services: ["+one+"check: {"+check+"}}]"))
	if err != nil {
		t.Fatal(err)
	}
	return f.Services[0]
}

func TestDifferencesOfChecksAreThoseOfTheNewType(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"type: tcp", "type: tcp", nil},
		{"type: http", "type: tcp", []string{"check.type: http -> tcp"}},
		{"type: tcp", "type: http", []string{"check.type: tcp -> http", `check.method: "" -> GET`, `check.path: "" -> /health`, `check.status: "" -> 200-399`}},
		{"type: redis, role: master, conflict: first", "type: redis", []string{"check.role: master -> any"}},
		{"type: redis", "type: redis, role: master, conflict: first", []string{"check.role: any -> master", "check.conflict: keep -> first"}},
		{"type: http, tls: {}", "type: http", []string{`check.tls: {server_name: "", ca: "", insecure: false} -> `}},
		{"type: http, tls: {}", "type: http, tls: {insecure: true}", []string{"check.tls.insecure: false -> true"}},
		{"type: send-expect, expect: a", "type: send-expect, regexp: a", []string{`check.expect: a -> ""`, `check.regexp: "" -> a`}},
		{
			`type: send-expect, steps: [{expect: a}, {send: x, expect: b}]`, `type: send-expect, steps: [{expect: a}, {send: x, regexp: b}]`,
			[]string{`check.steps: expect "a"; send "x" expect "b" -> expect "a"; send "x" regexp "b"`},
		},
	} {
		if got := keysOf(t, c.from, c.to); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s to %s:\n%s\nwant\n%s", c.from, c.to, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestTheNameTheListenersAndTheBackendsAreNoDifference(t *testing.T) {
	a, b := checked(t, "type: tcp"), checked(t, "type: tcp")
	b.Name, b.Listen, b.Backends = "b", []string{":9"}, nil
	if d := Differences(a, b); d != nil {
		t.Errorf("%+v", d)
	}
}

// What is shown of the configuration in force is itself a file.
func TestARedactedFileHasNoPasswordAndIsAFile(t *testing.T) {
	for password, want := range map[string]string{"hunter2": hidden, "env:A B": "env:A B", "file:/x y": "file:/x y", "": ""} {
		f, err := Parse("f", []byte("services: ["+one+"check: {type: redis, password: '"+password+"'}}]"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again", Format(Redacted(f)))
		if err != nil || again.Services[0].Check.Password != want {
			t.Errorf("%q became %q, %v", password, again.Services[0].Check.Password, err)
		}
		if f.Services[0].Check.Password != password {
			t.Error("the file itself was changed")
		}
	}
}
