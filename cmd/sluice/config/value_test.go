package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDurationsAreGos(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "250ms": 250 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "1h30m": 90 * time.Minute, "+3s": 3 * time.Second,
	} {
		if got, err := parseDuration(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"5":           "5 has no unit; write 5ms or 5s",
		"inf":         `"inf" is not a duration; write it like 250ms, 2s, 5m or 1h30m`,
		"-5":          `"-5" is not a duration; write it like 250ms, 2s, 5m or 1h30m`,
		"1.5":         "1.5 has no unit; write 1.5ms or 1.5s",
		"-1s":         "-1s is negative; allowed: 0s or more",
		"":            `"" is not a duration; write it like 250ms, 2s, 5m or 1h30m`,
		"1d":          `"1d" is not a duration; write it like 250ms, 2s, 5m or 1h30m`,
		"5 s":         `"5 s" is not a duration; write it like 250ms, 2s, 5m or 1h30m`,
		"9999999999h": `"9999999999h" is not a duration; write it like 250ms, 2s, 5m or 1h30m`,
	} {
		if got, err := parseDuration(s); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %v", s, got, err)
		}
	}
}

func TestStatusRanges(t *testing.T) {
	for s, want := range map[string][]StatusRange{
		"200":              {{200, 200}},
		"200-399":          {{200, 399}},
		"200-299,301, 304": {{200, 299}, {301, 301}, {304, 304}},
		"100-599":          {{100, 599}},
	} {
		if got := (Check{Status: s}).StatusRanges(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{"", "99", "600", "0200", "2xx", "399-200", "200-", "-200", "200,,300", "200-300-400", "200 300"} {
		if got, err := parseStatus(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	for s, want := range map[string]string{
		"127.0.0.1:1":           "127.0.0.1:1",
		":1":                    "[::]:1",
		"[::]:1":                "[::]:1",
		"[0:0::1]:65535":        "[::1]:65535",
		"[fe80::1%lo]:1":        "[fe80::1%lo]:1",
		"[::ffff:1.2.3.4]:1":    "1.2.3.4:1",
		"Redis_1.Internal.:1":   "redis_1.internal.:1",
		"localhost:0":           "localhost:0",
		"1host:1":               "1host:1",
		"unix:/run/x":           "unix:/run/x",
		"unix:@x":               "unix:@x",
		"unix:x:1":              "unix:x:1",
		"unix:" + long(107):     "unix:" + long(107),
		long(63) + ".example:1": long(63) + ".example:1",
	} {
		if got, err := parseAddress(s, true); err != nil || got != want {
			t.Errorf("%s: got %q, %v", s, got, err)
		}
	}
	for _, s := range []string{
		"", ":", "a", "a:", "a:-1", "a:01", "a:+1", "a:http", "a:65536", "1.2.3.4", "1.2.3.4.5:1", "1.2.3.256:1", "::1", "::1:1", "[::1]",
		"[::1]1", "[::1", "[a]:1", "[]:1", "[1.2.3.4]:1", "[::1%]:1", "[fe80::1%a b]:1", "a b:1", "-a:1", "a-:1", "a..b:1", ".:1",
		"é:1", "a/b:1", "http://a:1", "unix:", "unix:\x00", "unix:" + long(108), long(64) + ":1", "a:1\n", " a:1",
	} {
		if got, err := parseAddress(s, true); err == nil {
			t.Errorf("%q: got %q", s, got)
		}
	}
	for _, s := range []string{":1", "a:0"} {
		if got, err := parseAddress(s, false); err == nil {
			t.Errorf("backend %q: got %q", s, got)
		}
	}
}

func long(n int) string {
	return strings.Repeat("a", n)
}

func TestDidYouMean(t *testing.T) {
	words := []string{"name", "listen", "balance", "backends", "max_connections", "timeouts", "address"}
	for word, want := range map[string]string{
		"nmae": "name", "Name": "name", "backend": "backends", "balanec": "balance", "max-connections": "max_connections",
		"maxconnections": "max_connections", "timeout": "timeouts", "addr": "address", "addresses": "address",
		"zzz": "", "": "", "x": "", "weight": "", long(100000): "",
	} {
		if want != "" {
			want = ` (did you mean "` + want + `"?)`
		}
		if got := didYouMean(word, words); got != want {
			t.Errorf("%.20s: got %q, want %q", word, got, want)
		}
	}
}

func TestAnAddressMayStandTwiceUnderTwoNames(t *testing.T) {
	f, err := Parse("f", []byte("services: [{name: a, listen: ':0', backends: ['b:1', {address: 'b:1', name: again}]}]"))
	if err != nil || len(f.Services[0].Backends) != 2 {
		t.Errorf("%v, %v", f.Services, err)
	}
}
