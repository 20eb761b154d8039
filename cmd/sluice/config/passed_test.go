package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPassedSocketsHaveNames(t *testing.T) {
	for _, c := range []struct{ listen, want string }{
		{"fd:web", ""},
		{"'fd:80'", ""},
		{"fd:sluice.socket", ""},
		{"[fd:web, fd:db, ':2']", ""},
		{"'fd:'", `listen: fd: has no name; write fd:NAME, NAME being the socket's FileDescriptorName=`},
		{"'fd:a b'", `listen: "a b" is not the name of a passed socket; allowed: visible ASCII characters but the colon`},
		{"fd:a:b", `listen: "a:b" is not the name of a passed socket; allowed: visible ASCII characters but the colon`},
		{"fd:é", `listen: "é" is not the name of a passed socket; allowed: visible ASCII characters but the colon`},
		{"fd:" + strings.Repeat("x", 256), `listen: the name of a passed socket has 256 bytes; allowed: at most 255`},
		{"[fd:web, fd:web]", `listen: "fd:web" is listened on twice; the first is at line 1`},
		{"[fd:other]", `listen: "fd:other" is listened on twice; the first is at line 1`},
	} {
		src := "services: [{name: o, listen: fd:other, backends: [b:1]}, {name: a, listen: " + c.listen + ", backends: ['fd:80']}]"
		f, err := Parse("f", []byte(src))
		if got := messages(err); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.listen, got, c.want)
		}
		if err == nil {
			roundTrip(t, f)
		}
	}
}

func TestTimesOfLeavingAreInheritedAndCanBeTurnedOff(t *testing.T) {
	f := parse(t, `
shutdown_delay: 5s
defaults: {drain_timeout: 1m, limits: {rate_per_source: 9}}
services:
  - {name: a, listen: ":1", backends: [b:1]}
  - {name: b, listen: ":2", backends: [b:1], drain_timeout: 0, limits: {rate_per_source: 0}}
`)
	got := []time.Duration{f.ShutdownDelay, f.Services[0].DrainTimeout, f.Services[1].DrainTimeout}
	if want := []time.Duration{5 * time.Second, time.Minute, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if a, b := f.Services[0].Limits.RatePerSource, f.Services[1].Limits.RatePerSource; a != 9 || b != 0 {
		t.Errorf("rates %d and %d, want 9 and 0", a, b)
	}
	roundTrip(t, f)
}

func TestFaultsOfTimesOfLeaving(t *testing.T) {
	for _, c := range []struct{ root, service, want string }{
		{"shutdown_delay: 5", "", `f:1:17: shutdown_delay: 5 has no unit; write 5ms or 5s`},
		{"shutdown_delay: -1s", "", `f:1:17: shutdown_delay: -1s is negative; allowed: 0s or more`},
		{"drain_timeout: 5s", "", `f:1:1: unknown key "drain_timeout"; it goes in a service, or under defaults for all of them`},
		{"log: {}", "drain_timeout: never", `f:2:68: drain_timeout: "never" is not a duration; write it like 250ms, 2s, 5m or 1h30m`},
		{"log: {}", "limits: {rate_per_source: -1}", `f:2:79: rate_per_source: -1 is out of range; allowed: 0 or more`},
		{"defaults: {drain_timeout: [1s]}", "", `f:1:27: drain_timeout: must be a duration like 3s, not a list`},
	} {
		_, err := Parse("f", []byte(c.root+"\nservices: ["+one+c.service+"}]"))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s, %s:\ngot  %v\nwant %s", c.root, c.service, err, c.want)
		}
	}
}
