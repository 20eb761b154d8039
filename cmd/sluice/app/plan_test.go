package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// file is one of one service with more keys.
func file(keys string) string {
	return "services: [{name: a, listen: ':1', backends: [{address: 'b:1', name: b1}]" + keys + "}]"
}

func diff(t *testing.T, from, to string) api.Plan {
	t.Helper()
	return Diff(parse(t, from), parse(t, to))
}

// Each key of a service is a line of a plan, with its values as the file has them.
func TestAPlanHasALineForEachKeyOfAServiceThatChanges(t *testing.T) {
	const fresh, checks = "for new sessions", "probes begin anew; the states stay until they say otherwise"
	for _, c := range []struct{ keys, key, from, to, note string }{
		{"balance: maglev", "balance", "round-robin", "maglev", fresh},
		{"connect: {timeout: 1s}", "connect.timeout", "3s", "1s", fresh},
		{"connect: {attempts: 2}", "connect.attempts", "0", "2", fresh},
		{"connect: {hedge_after: 1s}", "connect.hedge_after", "0s", "1s", fresh},
		{"connect: {hold: 5m}", "connect.hold", "0s", "5m", fresh},
		{"connect: {replay: 9}", "connect.replay", "0", "9", fresh},
		{"timeouts: {idle: 1h}", "timeouts.idle", "0s", "1h", fresh},
		{"timeouts: {half_close: 1m}", "timeouts.half_close", "5m", "1m", fresh},
		{"timeouts: {user: 1m}", "timeouts.user", "30s", "1m", fresh},
		{"timeouts: {keepalive: 1m}", "timeouts.keepalive", "15s", "1m", fresh},
		{"check: {type: none}", "check.type", "tcp", "none", checks},
		{"check: {interval: 1m}", "check.interval", "2s", "1m", checks},
		{"check: {timeout: 2s}", "check.timeout", "1s", "2s", checks},
		{"check: {rise: 1}", "check.rise", "2", "1", checks},
		{"check: {fall: 1}", "check.fall", "3", "1", checks},
		{"check: {port: 9}", "check.port", "0", "9", checks},
		{"passive: {failures: 2}", "passive.failures", "1", "2", checks},
		{"passive: {eject: 1s}", "passive.eject", "5s", "1s", checks},
		{"on_down: close", "on_down", "keep", "close", ""},
		{"close_over: 1s", "close_over", "0s", "1s", ""},
		{"slow_start: 1s", "slow_start", "0s", "1s", ""},
		{"drain_timeout: 0s", "drain_timeout", "30s", "0s", ""},
		{"proxy_protocol: {send: v2}", "proxy_protocol.send", "none", "v2", "for new sessions; probes begin anew"},
		{"proxy_protocol: {accept: [10.0.0.0/8, '::1']}", "proxy_protocol.accept", "", "10.0.0.0/8, ::1/128", fresh},
		{"proxy_protocol: {accept_timeout: 1s}", "proxy_protocol.accept_timeout", "3s", "1s", fresh},
		{"allow: [10.0.0.0/8]", "allow", "", "10.0.0.0/8", fresh},
		{"deny: [10.0.0.0/8]", "deny", "", "10.0.0.0/8", fresh},
		{"limits: {connections: 1}", "limits.connections", "0", "1", fresh},
		{"limits: {per_source: 1}", "limits.per_source", "0", "1", fresh},
		{"limits: {rate_per_source: 1}", "limits.rate_per_source", "0", "1", fresh},
	} {
		want := []api.Change{{Service: "a", Action: "change", Key: c.key, From: c.from, To: c.to, Note: c.note}}
		if p := diff(t, file(""), file(", "+c.keys)); !slices.Equal(p.Changes, want) || p.Applied {
			t.Errorf("%s: %+v", c.keys, p)
		}
		want[0].From, want[0].To = c.to, c.from
		if p := diff(t, file(", "+c.keys), file("")); !slices.Equal(p.Changes, want) {
			t.Errorf("back from %s: %+v", c.keys, p)
		}
	}
}

func TestAPlanHasALineForEachKeyOfTheProcess(t *testing.T) {
	const start = "takes effect at the next start"
	for _, c := range []struct{ keys, key, from, to, note string }{
		{"log: {level: debug}", "log.level", "info", "debug", ""},
		{"log: {sessions: all}", "log.sessions", "errors", "all", ""},
		{"log: {format: text}", "log.format", "json", "text", start},
		{"shutdown_timeout: 1m", "shutdown_timeout", "30s", "1m", ""},
		{"shutdown_delay: 1m", "shutdown_delay", "0s", "1m", ""},
		{"state_dir: /x", "state_dir", `""`, "/x", start},
		{"admin: {listen: 127.0.0.1:9}", "admin", "", `{listen: 127.0.0.1:9, token: ""}`, start},
	} {
		p := diff(t, file(""), c.keys+"\n"+file(""))
		if want := (api.Change{Action: "change", Key: c.key, From: c.from, To: c.to, Note: c.note}); len(p.Changes) != 1 || p.Changes[0] != want {
			t.Errorf("%s: %+v", c.keys, p.Changes)
		}
	}
	p := diff(t, "admin: {listen: 127.0.0.1:9}\n"+file(""), "admin: {listen: 127.0.0.1:10, token: 'env:T'}\n"+file(""))
	if len(p.Changes) != 2 || p.Changes[0].Key != "admin.listen" || p.Changes[1].Key != "admin.token" || p.Changes[1].To != "env:T" {
		t.Errorf("%+v", p.Changes)
	}
}

func TestAPlanOfTheSameFileIsEmpty(t *testing.T) {
	if p := diff(t, file(", balance: maglev"), file(", balance: maglev")); p.Changes == nil || len(p.Changes) != 0 || len(p.Moved) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestAPlanTellsOfServicesListenersAndBackends(t *testing.T) {
	const from = `services:
  - {name: gone, listen: [':1', ':2'], backends: ['b:1'], drain_timeout: 5s}
  - {name: bound, listen: ':9', backends: ['b:1'], drain_timeout: 0s}
  - {name: web, listen: ['127.0.0.1:3', '127.0.0.1:0'], backends: [{address: 'b:1', name: b1}, {address: 'b:2', name: b2}, {address: 'b:3', name: b3}, {address: 'b:4', name: b4}]}`
	const to = `services:
  - {name: web, listen: ['0.0.0.0:3', '127.0.0.1:0', '127.0.0.1:0', ':5'],
     backends: [{address: 'b:4', name: b4}, {address: 'b:2', name: b2, weight: 0, priority: 2, max_connections: 7}, {address: 'c:1', name: b1}, {address: 'b:5', name: b5}]}
  - {name: new, listen: ':4', backends: ['b:1']}`
	var lines []string
	for _, c := range diff(t, from, to).Changes {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s: %s -> %s; %s", c.Action, c.Service, c.Backend, c.Key, c.From, c.To, c.Note)))
	}
	want := []string{
		"remove gone/ : :1, :2 -> ; its sessions have 5s to end",
		"remove bound/ : :9 -> ; its sessions go on until they end",
		"remove web/ listen: 127.0.0.1:3 -> ;",
		"add web/ listen:  -> 0.0.0.0:3; the port is the one of a listener that goes: clients may be refused for a moment",
		"add web/ listen:  -> 127.0.0.1:0;",
		"add web/ listen:  -> :5;",
		"remove web/b3 : b:3 -> ; its sessions have 30s to end",
		"change web/b2 weight: 1 -> 0;",
		"change web/b2 priority: 0 -> 2;",
		"change web/b2 max_connections: 0 -> 7;",
		"change web/b1 address: b:1 -> c:1; another backend of the same name: counters and state begin anew",
		"add web/b5 :  -> b:5;",
		"change web/ backends: b1, b2, b4 -> b4, b2, b1; another order",
		"add new/ :  -> :4;",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestAPlanNeverShowsAPassword(t *testing.T) {
	redis := func(password string) string { return file(", check: {type: redis, password: '" + password + "'}") }
	for _, c := range []struct{ from, to, shown, becomes string }{
		{"hunter2", "swordfish", "(in the file)", "(in the file)"},
		{"hunter2", "env:P", "(in the file)", "env:P"},
		{"file:/x", "hunter2", "file:/x", "(in the file)"},
		{"", "hunter2", `""`, "(in the file)"},
	} {
		p := diff(t, redis(c.from), redis(c.to))
		if len(p.Changes) != 1 || p.Changes[0].Key != "check.password" || p.Changes[0].From != c.shown || p.Changes[0].To != c.becomes {
			t.Errorf("%q to %q: %+v", c.from, c.to, p.Changes)
		}
	}
	if text := fmt.Sprint(diff(t, file(""), redis("hunter2")), diff(t, redis("hunter2"), file(""))); strings.Contains(text, "hunter2") {
		t.Errorf("the password is in %s", text)
	}
}

func TestASummaryCountsWhatChanged(t *testing.T) {
	p := api.Plan{Changes: []api.Change{
		{Service: "a", Action: "add"}, {Service: "a", Backend: "b", Action: "add"}, {Service: "a", Backend: "c", Action: "add"},
		{Service: "a", Backend: "d", Action: "change", Key: "weight"}, {Service: "a", Action: "remove", Key: "listen"},
	}}
	if got, want := summary(p), "add 1 services, add 2 backends, change 1 keys, remove 1 listeners"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := summary(api.Plan{}); got != "nothing changed" {
		t.Errorf("%q", got)
	}
}
