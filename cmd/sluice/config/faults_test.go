package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// one is a valid service in flow style, into which tests put one more setting.
const one = `{name: a, listen: ":1", backends: [b:1], `

// Faults are what users see and scripts may match, so the table has whole lines.
func TestFaults(t *testing.T) {
	for _, c := range slices.Concat(faultCases, slipCases) {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f", []byte(c.src))
			var faults Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want Faults", err)
			}
			if want := strings.TrimSpace(c.want); err.Error() != want {
				t.Errorf("got\n%s\nwant\n%s", err, want)
			}
		})
	}
}

type faultCase struct{ name, src, want string }

var faultCases = []faultCase{
	{"empty", "", `f:1:1: the file is empty; it needs at least services`},
	{"comment only", "# nothing\n", `f:1:1: the file is empty; it needs at least services`},
	{"document start only", "---\n...\n", `f:1:1: the file is empty; it needs at least services`},
	{"null root", "~\n", `f:1:1: the file is empty; it needs at least services`},
	{"list root", "- a\n", `f:1:1: the file: must be a mapping, not a list`},
	{"text root", "hello\n", `f:1:1: the file: must be a mapping, not the text "hello"`},
	{"no services", "log: {}\n", `f:1:1: services: required; a file has at least one service`},
	{"services empty", "services: []\n", `f:1:11: services: required; a file has at least one service`},
	{"services null", "services:\n", `f:1:1: services: no value; it is required, give it a list`},
	{"two documents", "a: 1\n---\nb: 2\n", `f:2:1: a second document is not allowed; one file is one configuration`},
	{"text after the end", "a: 1\n...\nb: 2\n", `f:2:1: a second document is not allowed; one file is one configuration`},
	{"tab", "services:\n\t- name: a\n", `f:2:1: a tab cannot indent; use spaces`},
	{"invalid UTF-8", "services: []\n# \xff\n", `f:2:3: byte 0xff is not UTF-8; save the file as UTF-8`},
	{"UTF-16", "\xff\xfea\x00", `f:1:1: byte 0xff is not UTF-8; save the file as UTF-8`},
	{"control character", "services: \"\x07\"", `f:1:12: control character U+0007 is not allowed; in double quotes write "\x07"`},
	{"carriage return", "a: 1\rb: 2", `f:1:5: control character U+000D is not allowed; in double quotes write "\x0d"`},
	{"anchors", "a: &x {b: 1}\nc: *x\n", `
f:1:4: anchors and aliases are not supported; put what services share under defaults, and quote a text that starts with & or *
f:2:4: anchors and aliases are not supported; put what services share under defaults, and quote a text that starts with & or *`},
	{"merge key", "a:\n  <<: {b: 1}\n", `f:2:3: merge keys (<<) are not supported; put what services share under defaults`},
	{"tag", "a: !!str 1\n", `f:1:4: tags are not supported; quote a text that starts with !`},
	{"directive", "%YAML 1.2\n---\na: 1\n", `f:1:1: directives are not supported; leave the line out`},
	{"question mark key", "? a\n: b\n", `f:1:1: keys after ? are not supported; write KEY: VALUE`},
	{"block text", "a: |\n  x\n", `f:1:4: block text (| or >) is not supported; write the text in quotes`},
	{"open bracket", "a: [b\n", `f:1:4: "[" is never closed`},
	{"open brace", "{a: b\n", `f:1:1: "{" is never closed`},
	{"open quote", "a: 'b\n", `f:1:4: could not find end character of single-quoted text`},
	{"closing bracket", "a: ]\n", `f:1:4: unexpected "]"; no bracket is open that it could close here`},
	{"text after quotes", `a: "b"c`, `f:1:7: unexpected "c"; quote a text that has it, or check the comma, bracket or quote before it`},
	{"mapping on one line", "a: b: c\n", `f:1:4: a list or a mapping cannot start on the line of its key; start it on the next line, or quote a text with ": " in it`},
	{"list on the line of its key", "a: - b\n", `f:1:4: a list or a mapping cannot start on the line of its key; start it on the next line, or quote a text with ": " in it`},
	{"indented too deep", "a: b\n  c: d\n", `f:2:4: unexpected ":"; this line is indented as if the text of the line before it went on here`},
	{"indented too little", "a:\n    b: 1\n  c: 2\n", `f:3:3: key "c" is not in the column of the keys before it, or the line before it does not end`},
	{"dash out of column", "a:\n   - b\n  - c\n", `f:3:3: unexpected "-"; a list item stands in the column of the other items, each on its own line`},
	{"not a key", "a: 1\nb\n", `f:2:1: expected KEY: VALUE, got "b"`},
	{"no space after colon", "{a:1}", `f:1:2: expected KEY: VALUE, got "a:1"; a space belongs after the colon`},
	{"IPv6 without quotes", "services:\n  - listen: [::1]:6379\n", `f:2:18: unexpected ":6379"; an address with brackets needs quotes, like "[::1]:6379"`},
	{"IPv6 without quotes in braces", "services: [{listen: [::1]:6379}]\n", `f:1:26: unexpected ":6379"; an address with brackets needs quotes, like "[::1]:6379"`},

	{"duplicate key", "log: {level: info, level: debug}\nservices: [" + one + "}]\nlog: {}\n", `
f:1:20: duplicate key "level"; the first is at line 1
f:3:1: duplicate key "log"; the first is at line 1`},
	{"unknown keys", "servics: []\nservices:\n  - name: a\n    listen: ':1'\n    blance: first\n    backends: [{addr: b:1, address: b:1}]\n    check: {zzz: 1}\n", `
f:1:1: unknown key "servics"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "services"?)
f:5:5: unknown key "blance"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "balance"?)
f:6:17: unknown key "addr"; allowed: address, name, weight, priority, max_connections (did you mean "address"?)
f:7:13: unknown key "zzz"; allowed: type, interval, timeout, rise, fall, port, method, path, host, status, user, password, database, role, conflict, send, expect, regexp, steps, tls`},
	{"service keys missing", "services:\n  - {}\n", `
f:2:5: name: required; every service has one
f:2:5: listen: required; write host:port or unix:/PATH, or a list of them
f:2:5: backends: required; a service has at least one backend`},
	{"null values", "log:\nservices:\n  - name: a\n    listen: ':1'\n    backends: [b:1]\n    check: ~\n    connect: {timeout: , hold: null}\n    allow: [~]\n    balance:\n", `
f:1:1: log: no value; leave the key out, or give it a mapping
f:6:12: check: no value; leave the key out, or give it a mapping
f:7:15: timeout: no value; leave the key out, or give it a duration like 3s
f:7:32: hold: no value; leave the key out, or give it a duration like 3s
f:8:13: allow: no value; leave the key out, or give it text
f:9:5: balance: no value; leave the key out, or give it text`},
	{"wrong types", "services:\n  - name: 5\n    listen: {a: b}\n    backends: b:1\n    connect: [1]\n    timeouts: 5s\n    balance: true\n    check: {rise: '3', type: http, tls: true, interval: []}\n    allow: 10.0.0.0/8\n    passive: {failures: x, eject: true}\n", `
f:2:11: name: must be text, not a number; write "5"
f:3:13: listen: must be text, not a mapping
f:4:15: backends: must be a list, not the text "b:1"
f:5:14: connect: must be a mapping, not a list
f:6:15: timeouts: must be a mapping, not the text "5s"
f:7:14: balance: must be text, not true or false
f:8:19: rise: must be a number, not the text "3"
f:8:41: tls: must be a mapping, not true or false
f:8:57: interval: must be a duration like 3s, not a list
f:9:12: allow: must be a list, not the text "10.0.0.0/8"
f:10:25: failures: must be a number, not the text "x"
f:10:35: eject: must be a duration like 3s, not true or false`},
	{"durations", "services:\n  - " + one + "connect: {timeout: 5, hold: 3x}, timeouts: {idle: -1s, user: 1.5, half_close: 100µ, keepalive: 500ms}}\n", `
f:2:65: timeout: 5 has no unit; write 5ms or 5s
f:2:74: hold: "3x" is not a duration; write it like 250ms, 2s, 5m or 1h30m
f:2:96: idle: -1s is negative; allowed: 0s or more
f:2:107: user: 1.5 has no unit; write 1.5ms or 1.5s
f:2:124: half_close: "100µ" is not a duration; write it like 250ms, 2s, 5m or 1h30m
f:2:141: keepalive: 500ms is out of range; allowed: 1s to 32767s, or 0s to turn it off`},
	{"numbers", "services:\n  - " + one + "connect: {attempts: -1, replay: 1.5}, limits: {connections: 010, per_source: 3000000000, rate_per_source: 0x10}}\n", `
f:2:66: attempts: -1 is out of range; allowed: 0 or more
f:2:78: replay: "1.5" is not a plain whole number like 42
f:2:106: connections: "010" is not a plain whole number like 42
f:2:123: per_source: "3000000000" is out of range; allowed: at most 2147483647
f:2:152: rate_per_source: "0x10" is not a plain whole number like 42`},
	{"words", "log: {level: warning, format: yaml, sessions: error}\nservices:\n  - " + one + "balance: leastconn, on_down: klose, proxy_protocol: {send: V1}, check: {type: htp}}\n", `
f:1:14: level: "warning" is not known; allowed: debug, info, warn, error (did you mean "warn"?)
f:1:31: format: "yaml" is not known; allowed: json, text
f:1:47: sessions: "error" is not known; allowed: all, errors, off (did you mean "errors"?)
f:3:55: balance: "leastconn" is not known; allowed: round-robin, least-conn, p2c, random, source-hash, maglev, first (did you mean "least-conn"?)
f:3:75: on_down: "klose" is not known; allowed: keep, close (did you mean "close"?)
f:3:105: send: "V1" is not known; allowed: none, v1, v2 (did you mean "v1"?)
f:3:124: type: "htp" is not known; allowed: tcp, http, redis, postgres, mysql, send-expect, none (did you mean "http"?)`},
	{"names", "services:\n  - {name: a/b, listen: ':1', backends: [{address: b:1, name: 'x y'}, {address: 'unix:/x y'}, {address: c:1, name: ''}]}\n  - {name: -x, listen: ':2', backends: [{address: b:1, name: ..}]}\n  - {name: \"a\\u200b\", listen: ':3', backends: [b:1]}\n", `
f:2:12: name: "a/b" has a /, which stands between service and backend in commands
f:2:63: name: "x y" has spaces or characters that do not print; allowed: letters, digits and signs
f:2:81: address: the address cannot be the backend's name too; give it a name
f:2:116: name: a name of 0 characters is not allowed; allowed: 1 to 128
f:3:12: name: "-x" would be read as a flag or a path; allowed: not . or .., and no - in front
f:3:62: name: ".." would be read as a flag or a path; allowed: not . or .., and no - in front
f:4:12: name: "a\u200b" has spaces or characters that do not print; allowed: letters, digits and signs`},
	{"given twice", "services:\n  - {name: a, listen: [':1', '[::]:1', 'h:0', 'h:0'], backends: [b:1, B:1]}\n  - {name: a, listen: ':1', backends: [{address: c:1, name: d:1}, d:1, 'unix:/x', 'unix:/x']}\n", `
f:2:30: listen: "[::]:1" is listened on twice; the first is at line 2
f:2:71: address: "B:1" is the address of two backends; the first is at line 2; give it a name of its own if that is meant
f:3:12: name: "a" is the name of two services; the first is at line 2
f:3:23: listen: ":1" is listened on twice; the first is at line 2
f:3:67: address: "d:1" is the name of two backends; the first is at line 3
f:3:83: address: "unix:/x" is the address of two backends; the first is at line 3; give it a name of its own if that is meant`},
	{"listen", "services:\n  - name: a\n    listen: [6379, '::1:80', 'h', 'h:x', 'h:65536', '[1.2.3.4]:1', '1.2.3:1', 'unix:', 'fd:web', '', 'tcp://h:1']\n    backends: [b:1]\n", `
f:3:14: listen: "6379" is only a port; write HOST:6379, or :6379 to listen on every address
f:3:20: listen: "::1:80" is an IPv6 address without brackets; write it like [::1]:6379
f:3:30: listen: "h" has no port; write HOST:PORT, [IPV6]:PORT or unix:/PATH
f:3:35: listen: port "x" is not allowed; allowed: 0 to 65535
f:3:42: listen: port "65536" is not allowed; allowed: 0 to 65535
f:3:53: listen: "[1.2.3.4]" is not an IPv6 address
f:3:68: listen: host "1.2.3" is neither an IP address nor a host name
f:3:79: listen: unix: has no path; write unix:/PATH
f:3:98: listen: "" is not an address; write HOST:PORT, [IPV6]:PORT or unix:/PATH
f:3:102: listen: "tcp://h:1" is a URL; write HOST:PORT, [IPV6]:PORT or unix:/PATH`},
	{"backends", "services:\n  - name: a\n    listen: ':1'\n    backends: [':80', 'b:0', 6379, [b:1], {weight: 3}, {address: c:1, weight: 257, priority: -1, max_connections: -2}, 'fd:x']\n", `
f:4:16: address: ":80" has no host; write HOST:80
f:4:23: address: port "0" is not allowed; allowed: 1 to 65535
f:4:30: backends: must be an address or a mapping with one, not a number
f:4:36: backends: must be an address or a mapping with one, not a list
f:4:43: address: required; write host:port or unix:/PATH
f:4:79: weight: 257 is out of range; allowed: 0 to 256
f:4:94: priority: -1 is out of range; allowed: 0 or more
f:4:115: max_connections: -2 is out of range; allowed: 0 or more
f:4:120: address: port "x" is not allowed; allowed: 1 to 65535`},
	{"CIDRs", "services:\n  - " + one + "allow: [10.0.0.1/8, x, 'fe80::1%lo', '::ffff:10.0.0.0/104', 1.2], proxy_protocol: {accept: [2001:db8::1/32, 1.2.3.4/33]}}\n", `
f:2:54: allow: "10.0.0.1/8" has bits after its mask; write 10.0.0.0/8
f:2:66: allow: "x" is not a CIDR; write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1
f:2:69: allow: "fe80::1%lo" has a zone; write the prefix without %
f:2:83: allow: "::ffff:10.0.0.0/104" is IPv4 written as IPv6; write 10.0.0.0/8
f:2:106: allow: "1.2" is not a CIDR; write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1
f:2:138: accept: "2001:db8::1/32" has bits after its mask; write 2001:db8::/32
f:2:154: accept: "1.2.3.4/33" is not a CIDR; write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1`},
	{"check", "services:\n  - " + one + "check: {interval: 0, timeout: 0s, rise: 0, fall: -1, port: 65536, path: /x, user: u}}\n", `
f:2:64: interval: 0s is too short; allowed: at least 1ms, or write type: none to turn checks off
f:2:76: timeout: cannot be 0, a backend that is silent would never be down
f:2:86: rise: 0 is out of range; allowed: 1 or more
f:2:95: fall: -1 is out of range; allowed: 1 or more
f:2:105: port: 65536 is out of range; allowed: 0 to 65535
f:2:118: path: not for type tcp; it is for type http
f:2:128: user: not for type tcp; it is for type redis, postgres, mysql`},
	{"http check", "services:\n  - " + one + "check: {type: http, path: x, method: G T, host: 'a b', status: 99, tls: {ca: testdata/none.pem, server_name: ' ', insecure: 1}}}\n", `
f:2:72: path: "x" is not allowed; a path starts with / and has no spaces and no #, write other characters as %XX
f:2:83: method: "G T" is not an HTTP method; write it like GET or HEAD
f:2:94: host: "a b" is not allowed; a host is a name or an address, with or without a port
f:2:109: status: "99" is not a list of status codes; write codes from 100 to 599 like "200", "200-399" or "200-299,401"
f:2:123: ca: "testdata/none.pem" cannot be read: no such file or directory
f:2:155: server_name: " " is not a host name
f:2:170: insecure: must be true or false, not a number`},
	{"CA without a certificate", "services:\n  - " + one + "check: {type: http, tls: {ca: testdata/contract.yaml}}}\n  - {name: b, listen: ':2', backends: [b:1], check: {type: http, tls: {ca: testdata}}}\n", `
f:2:76: ca: has no certificate; it must be a PEM file with at least one
f:3:76: ca: "testdata" is not a regular file`},
	{"port of a unix socket", "defaults: {check: {port: 80}}\nservices:\n  - {name: a, listen: ':1', backends: ['unix:/x']}\n  - {name: b, listen: ':2', backends: ['unix:/x'], check: {type: none}}\n", `f:1:26: port: backend "unix:/x" is a unix socket and has no other port; leave port out or write 0`},
	{"passive", "services: [" + one + "passive: {failures: -1, eject: 61s}}]\n", `
f:1:73: failures: -1 is out of range; allowed: 0 or more
f:1:84: eject: 1m1s is too long; allowed: 0s to 1m`},
	{"later checks", "services:\n  - " + one + "check: {type: redis, role: primary, conflict: x, port: -1}}\n  - {name: b, listen: ':2', backends: [b:1], check: {type: send-expect, send: '\\q', regexp: '(', expect: x}}\n", `
f:2:73: role: "primary" is not known; allowed: any, master, replica
f:2:92: conflict: "x" is not known; allowed: keep, none, first
f:2:101: port: -1 is out of range; allowed: 0 to 65535
f:3:79: send: "\\q" is not a text with Go's escapes, like PING\r\n
f:3:93: regexp: "(" is not a regular expression of Go`},
	{"admin", "admin: {listen: x, token: secret}\nstate_dir: /var/lib/sluice\nservices: [" + one + "}]\n", `
f:1:17: listen: "x" has no port; write HOST:PORT, [IPV6]:PORT or unix:/PATH
f:1:27: token: a token does not stand in the file; write env:NAME or file:PATH`},
	{"defaults once", "services:\n  - {name: a, listen: ':1', backends: [b:1]}\n  - {name: b, listen: ':2', backends: [b:1]}\ndefaults: {name: x, balanse: first, balance: rr, check: {fall: 0, path: /}, allow: [x], slow_start: 1s}\n", `
f:4:12: name cannot have a default; write it in every service
f:4:21: unknown key "balanse"; allowed: balance, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "balance"?)
f:4:46: balance: "rr" is not known; allowed: round-robin, least-conn, p2c, random, source-hash, maglev, first
f:4:64: fall: 0 is out of range; allowed: 1 or more
f:4:73: path: not for type tcp; it is for type http
f:4:85: allow: "x" is not a CIDR; write it like 10.0.0.0/8, 2001:db8::/32 or 192.0.2.1`},
}

func TestFaultsHaveTheirPath(t *testing.T) {
	_, err := Parse("f", []byte("services: ["+one+"connect: {attempts: -1}, check: {port: 99999}}]"))
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 2 ||
		faults[0].Path != "services[0].connect.attempts" || faults[1].Path != "services[0].check.port" {
		t.Errorf("got %+v", faults)
	}
}

func TestLongValuesAreCutInMessages(t *testing.T) {
	_, err := Parse("f", []byte("log: {level: "+strings.Repeat("é", 5000)+"}"))
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("message of %d bytes", len(err.Error()))
	}
}
