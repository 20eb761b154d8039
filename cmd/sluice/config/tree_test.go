package config

import (
	"reflect"
	"testing"
)

// The same configuration, as different hands and templates write it.
func TestStylesOfYAMLMeanTheSame(t *testing.T) {
	want := parse(t, `services:
  - name: a
    listen: ":6379"
    backends:
      - 10.0.0.1:6379
      - address: "[2001:db8::1]:6379"
        name: b 
    allow: [2001:db8::/32, ::1]
    check: {}
`)
	for name, src := range map[string]string{
		"dashes in the column of the key": "services:\n- name: a\n  listen: :6379\n  backends:\n  - 10.0.0.1:6379\n" +
			"  - address: '[2001:db8::1]:6379'\n    name: b\n  allow:\n  - 2001:db8::/32\n  - ::1\n",
		"JSON": `{"services":[{"name":"a","listen":[":6379"],"backends":["10.0.0.1:6379",` +
			`{"address":"[2001:db8::1]:6379","name":"b"}],"allow":["2001:db8::/32","::1"]}]}`,
		"flow": "services: [{name: a, listen: :6379, backends: [10.0.0.1:6379, {address: '[2001:db8::1]:6379', name: b}], " +
			"allow: [2001:db8::/32, ::1]}]",
		"flow over lines": "services: [\n  {\n    name: a, # the name\n    listen: [:6379,],\n    backends: [\n      10.0.0.1:6379,\n" +
			"      {address: '[2001:db8::1]:6379',\n       name: b,},\n    ],\n    allow: [2001:db8::/32, ::1],\n  },\n]\n",
		"comments, document marks, no last line end": "# c\n---\n# c\nservices: # c\n# c\n  # c\n  - name: a # c\n\n    # c\n" +
			"    listen: :6379\n    backends: # c\n      # c\n      - 10.0.0.1:6379 # c\n      -\n        address: \"[2001:db8::1]:6379\"\n" +
			"        # c\n        name: b\n    allow:\n      [2001:db8::/32, ::1]\n...\n# c",
		"quoted keys, wide indents": "\"services\":\n        -   'name': a\n            listen:\n                    - \":6379\"\n" +
			"            backends:\n            -   10.0.0.1:6379\n            -   {address:   \"[2001:db8::1]:6379\"  ,name: b}\n" +
			"            allow: [ 2001:db8::/32 , \"::1\" ]",
	} {
		got, err := Parse("f", []byte(src))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, src)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestColonsInPlainText(t *testing.T) {
	for src, want := range map[string][]string{
		"{k: [a:1, 2001:db8::/32, ::1, unix:/x:y, a b:c]}": {"a:1", "2001:db8::/32", "::1", "unix:/x:y", "a b:c"},
		"k: [a:1, ::1, :1]": {"a:1", "::1", ":1"},
		`{"k":["a:1",b:2]}`: {"a:1", "b:2"},
		"{a: b, k: [x:1]}":  {"x:1"},
	} {
		n := readTree([]byte(src), newFaultList("f"))
		if n == nil || n.get("k") == nil {
			t.Errorf("%s: no key k", src)
			continue
		}
		var got []string
		for _, item := range n.get("k").items {
			got = append(got, item.text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q", src, got)
		}
	}
}

// Names and values go into messages, and a message is one line whatever they hold.
func TestMessagesAreOnOneLine(t *testing.T) {
	for _, setting := range []string{
		`check: {type: "a\nb"}`, `check: {type: http, tls: {ca: "a\nb", server_name: "\n"}}`, `check: {type: http, path: "/\n", method: "\n", host: "\n", status: "\n"}`,
		`allow: ["\n", "a\n%"]`, `balance: "\n"`, `"a\nb": 1`, `connect: {timeout: "\n"}`, `check: {type: send-expect, regexp: "(\n", send: "\n"}`,
	} {
		src := "services: [" + one + setting + `}, {name: "\n", listen: ["\n", "[\n]:1", "\n:1", "a:\n", "fd:\n", "unix:\n"], backends: ["[\n]:1"]}]`
		_, err := Parse("f", []byte(src))
		faults, ok := err.(Faults)
		if !ok {
			t.Fatalf("%s: %v", src, err)
		}
		for _, f := range faults {
			if !printable(f.Message) {
				t.Errorf("%q", f.Message)
			}
		}
	}
}
