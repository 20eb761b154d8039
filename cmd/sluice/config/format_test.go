package config

import (
	"bytes"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// roundTrip checks that a file and its print mean the same, and that printing is stable.
func roundTrip(t *testing.T, f File) {
	t.Helper()
	printed := Format(f)
	again, err := Parse("printed", printed)
	if err != nil {
		t.Fatalf("printed file is refused: %v\n%s", err, printed)
	}
	if !reflect.DeepEqual(f, again) {
		t.Fatalf("printed file has another meaning\n%s\ngot  %+v\nwant %+v", printed, again, f)
	}
	if !bytes.Equal(printed, Format(again)) {
		t.Fatalf("printed again:\n%s\nwas\n%s", Format(again), printed)
	}
}

// full sets everything that is supported.
const full = `
admin: {listen: ":9090", token: "env:A", tls: {cert: testdata/cert.pem, key: testdata/key.pem, client_ca: testdata/ca.pem}}
log: {level: debug, format: text, sessions: off}
shutdown_timeout: 1h30m
shutdown_delay: 1.5s
defaults:
  check: {type: http, method: HEAD, path: "/on?q=%231", host: yes, status: 200, tls: {ca: testdata/ca.pem, insecure: true}}
services:
  - name: "on"
    listen: [":1", "127.0.0.1:0", "[fe80::1%lo]:9", "unix:/run/a b.sock", ":0", "fd:80"]
    balance: maglev
    backends:
      - 10.0.0.1:1
      - {address: "[::1]:2", name: "*a", weight: 0, priority: 2, max_connections: 5}
      - {address: unix:@abstract, name: é"\#}
    connect: {timeout: 0, attempts: 3}
    timeouts: {idle: 1h, half_close: 90s, user: 1ms, keepalive: 0s}
    passive: {failures: 0, eject: 60s}
    proxy_protocol: {send: v2, accept: [2001:db8::/32, ::1], accept_timeout: 1.5s}
    allow: [10.0.0.0/8, 192.0.2.1]
    deny: [10.9.0.0/16]
    limits: {connections: 1, per_source: 2, rate_per_source: 3}
    drain_timeout: 1m30s
  - name: "1e3"
    listen: localhost:2
    backends: [unix:/x]
    check: {type: none}
    allow: []
`

func TestFormatRoundTrips(t *testing.T) {
	for _, src := range []string{string(contract(t)), full, "services: [" + one + "}]"} {
		f, err := Parse("f", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, f)
	}
}

func TestFormatHasTheOrderOfTheContract(t *testing.T) {
	f, err := Parse("f", []byte("services: ["+one+"check: {type: http, tls: {}}, deny: [10.0.0.1]}]"))
	if err != nil {
		t.Fatal(err)
	}
	want := `log:
  level: info
  format: json
  sessions: errors
shutdown_timeout: 30s
shutdown_delay: 0s
state_dir: ""
services:
  - name: a
    listen: ":1"
    balance: round-robin
    backends:
      - address: b:1
        name: b:1
        weight: 1
        priority: 0
        max_connections: 0
    connect:
      timeout: 3s
      attempts: 0
      hedge_after: 0s
      hold: 0s
      replay: 0
    timeouts:
      idle: 0s
      half_close: 5m
      user: 30s
      keepalive: 15s
    check:
      type: http
      interval: 2s
      timeout: 1s
      rise: 2
      fall: 3
      port: 0
      method: GET
      path: /health
      host: ""
      status: 200-399
      tls:
        server_name: ""
        ca: ""
        insecure: false
    passive:
      failures: 1
      eject: 5s
    on_down: keep
    close_over: 0s
    slow_start: 0s
    drain_timeout: 30s
    proxy_protocol:
      send: none
      accept: []
      accept_timeout: 3s
    allow: []
    deny:
      - 10.0.0.1/32
    limits:
      connections: 0
      per_source: 0
      rate_per_source: 0
`
	if got := string(Format(f)); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", 250 * time.Millisecond: "250ms", 1500 * time.Millisecond: "1.5s", 10 * time.Second: "10s",
		5 * time.Minute: "5m", 10 * time.Minute: "10m", 90 * time.Second: "1m30s", time.Hour: "1h", 90 * time.Minute: "1h30m",
		time.Hour + time.Second: "1h0m1s", 100 * time.Hour: "100h", 10*time.Hour + 10*time.Minute: "10h10m",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

// A text that is printed without quotes where YAML needs them comes back as something else, or not at all.
func TestFormatTextReadsBack(t *testing.T) {
	for _, s := range []string{
		"", "a", "a b", " a", "a ", "on", "off", "yes", "n", "~", "null", "true", "1", "1.5", "1e3", "0x10", "010", "1_000", ".inf",
		".nan", "-", "-a", "--- ", "---", "...", "?", "? a", ":", ":a", "a:", "a: b", "a:b", "#", "a #b", "a#b", "*a", "&a", "!a",
		"%a", "@a", "`a`", "|", ">", "[a]", "{a}", "a,b", "'a'", `"a"`, `a"b`, `\`, `\n`, "a\nb", "a\tb", "\t", "é", "日本", "\u00a0",
		"\u2028", "\u0085", "\U0001F600", "\ufeff", "\x01", "\x7f", "12:30", "2026-01-01", "<<", "=", "::1", "unix:/a b", "10.0.0.0/8",
	} {
		var got string
		src := formatText(s)
		faults := newFaultList("f")
		n := readTree([]byte("k: "+src), faults)
		if n == nil || n.get("k") == nil || n.get("k").scalar(&got) != nil || got != s {
			t.Errorf("%q as %s: got %q, %v", s, src, got, faults.err())
		}
	}
}

func TestFormatDoesNotChangeItsArgument(t *testing.T) {
	f, err := Parse("f", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	Format(f)
	again, _ := Parse("f", []byte(full))
	if !reflect.DeepEqual(f, again) {
		t.Error("Format changed the file")
	}
}

func TestParseFillsEveryField(t *testing.T) {
	f, err := Parse("f", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := Service{
		Name:    "on",
		Listen:  []string{":1", "127.0.0.1:0", "[fe80::1%lo]:9", "unix:/run/a b.sock", ":0", "fd:80"},
		Balance: "maglev",
		Backends: []Backend{
			{Address: "10.0.0.1:1", Name: "10.0.0.1:1", Weight: 1},
			{Address: "[::1]:2", Name: "*a", Priority: 2, MaxConnections: 5},
			{Address: "unix:@abstract", Name: `é"\#`, Weight: 1},
		},
		Connect:  Connect{Attempts: 3},
		Timeouts: Timeouts{Idle: time.Hour, HalfClose: 90 * time.Second, User: time.Millisecond},
		Check: Check{
			Type: "http", Interval: 2 * time.Second, Timeout: time.Second, Rise: 2, Fall: 3,
			Method: "HEAD", Path: "/on?q=%231", Host: "yes", Status: "200", TLS: &TLS{CA: "testdata/ca.pem", Insecure: true},
		},
		Passive: Passive{Eject: time.Minute},
		OnDown:  "keep",
		ProxyProtocol: ProxyProtocol{
			Send: "v2", AcceptTimeout: 1500 * time.Millisecond,
			Accept: []netip.Prefix{netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("::1/128")},
		},
		Allow:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32")},
		Deny:   []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
		Limits: Limits{Connections: 1, PerSource: 2, RatePerSource: 3},

		DrainTimeout: 90 * time.Second,
	}
	if !reflect.DeepEqual(f.Services[0], want) {
		t.Errorf("got  %+v\nwant %+v", f.Services[0], want)
	}
	if (f.Log != Log{"debug", "text", "off"}) || f.ShutdownTimeout != 90*time.Minute || f.StateDir != "" || f.ShutdownDelay != 1500*time.Millisecond {
		t.Errorf("got %+v", f)
	}
	admin := Admin{Listen: ":9090", Token: "env:A", TLS: &AdminTLS{Cert: "testdata/cert.pem", Key: "testdata/key.pem", ClientCA: "testdata/ca.pem"}}
	if !reflect.DeepEqual(*f.Admin, admin) {
		t.Errorf("got admin %+v, want %+v", f.Admin, admin)
	}
	if check := f.Services[1].Check; !reflect.DeepEqual(check, Check{Type: "none", Interval: 2 * time.Second, Timeout: time.Second, Rise: 2, Fall: 3}) {
		t.Errorf("check of another type inherited %+v", check)
	}
	if strings.Contains(string(Format(f)), "defaults") {
		t.Error("defaults are printed, though every service has them")
	}
}
