package config

import (
	"fmt"
	"strings"
	"testing"
)

// What check prints for any check can be checked again.
func TestEachCheckIsPrintedAsAFileOfTheSameMeaning(t *testing.T) {
	checks := []string{"type: tcp", "type: none", "type: http", "type: http, tls: {insecure: true}", "type: send-expect, expect: a",
		"type: send-expect, send: a, regexp: b", `type: send-expect, steps: [{expect: a}, {send: 'b\\r\\n', regexp: c}]`,
		"type: postgres", "type: mysql", "type: redis"}
	for typ, roles := range map[string][]string{"redis": {"any", "master", "replica"}, "postgres": {"any", "primary", "replica"}, "mysql": {"any", "primary", "replica"}} {
		for _, role := range roles {
			checks = append(checks, fmt.Sprintf("type: %s, user: u, password: p, role: %s", typ, role))
		}
		for _, conflict := range []string{"keep", "none", "first"} {
			checks = append(checks, fmt.Sprintf("type: %s, user: u, password: p, role: %s, conflict: %s", typ, roles[1], conflict))
		}
	}
	for _, c := range checks {
		for _, src := range []string{"services: [" + one + "check: {" + c + "}}]", "defaults: {check: {" + c + "}}\nservices: [" + strings.TrimSuffix(one, ", ") + "}]"} {
			f, err := Parse("f", []byte(src))
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			roundTrip(t, f)
			if has := strings.Contains(string(Format(f)), "conflict: "); has != f.Services[0].Check.writer() {
				t.Errorf("%s: conflict is printed: %v", c, has)
			}
		}
	}
}

// defaults may ask for a writer where one service does not.
func TestAServiceThatAsksForNoWriterHasNoConflict(t *testing.T) {
	f, err := Parse("f", []byte("defaults: {check: {type: redis, role: master, conflict: first}}\nservices: ["+one+"check: {role: replica}}]"))
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Services[0].Check.Conflict; c != "keep" {
		t.Errorf("conflict %q", c)
	}
	roundTrip(t, f)
}

func TestAConversationHasToExpectSomething(t *testing.T) {
	const nothing = "expects nothing: a server that never answers would pass; write expect or regexp too"
	for check, want := range map[string]string{
		`type: send-expect, send: a`:                              "services[0].check.send: " + nothing,
		`type: send-expect, steps: [{send: a}, {send: b}]`:        "services[0].check.steps: " + nothing,
		`type: send-expect, steps: [{send: a}, {expect: b}]`:      "",
		`type: send-expect, steps: [{expect: b}, {send: "QUIT"}]`: "",
		`type: redis, password: "env:"`:                           "services[0].check.password: names nothing; write env:NAME or file:PATH",
		`type: redis, password: "file:"`:                          "services[0].check.password: names nothing; write env:NAME or file:PATH",
		`type: redis, password: "env:X"`:                          "",
	} {
		_, err := Parse("f", []byte("services: ["+one+"check: {"+check+"}}]"))
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, strings.TrimPrefix(want, "services[0].check.")) || strings.Count(got, "\n") > 0 {
			t.Errorf("%s: %s, want %q", check, got, want)
		}
	}
}
