package admin

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestWhoAskedIsOneCleanLine(t *testing.T) {
	for _, c := range []struct{ from, remote, want string }{
		{"", "127.0.0.1:5", "(127.0.0.1:5)"},
		{"anna@ops", "127.0.0.1:5", "anna@ops (127.0.0.1:5)"},
		{"anna@ops", "@", "anna@ops (unix)"},
		{"", "", "(unix)"},
		{"a\x00b\x1b[31m\r\nc\u202ed\u2028e", "[::1]:5", "ab[31mcde ([::1]:5)"},
		{"root (10.0.0.1:1)", "1.2.3.4:5", "root10.0.0.1:1 (1.2.3.4:5)"},
		{"\xff\xfeanna", "1.2.3.4:5", "anna (1.2.3.4:5)"},
		{"Ångström@x", "1.2.3.4:5", "Ångström@x (1.2.3.4:5)"},
		{" \t", "1.2.3.4:5", "(1.2.3.4:5)"},
		{strings.Repeat("ä", 500), "1.2.3.4:5", strings.Repeat("ä", maxWho) + " (1.2.3.4:5)"},
	} {
		r := &http.Request{Header: http.Header{"From": {c.from}}, RemoteAddr: c.remote, TLS: &tls.ConnectionState{}}
		if got := who(r); got != c.want || !utf8.ValidString(got) {
			t.Errorf("%q from %q: %q, want %q", c.from, c.remote, got, c.want)
		}
	}
}

func TestWhoAskedReachesControl(t *testing.T) {
	r := begin(t, Config{})
	r.expect(200, "POST", "/api/v1/sessions/kill", `{"id":"s/1"}`, "From: anna@ops")
	if call := r.control.noted()[0]; !strings.HasPrefix(call, "kill {s/1    0s} as anna@ops (127.0.0.1:") {
		t.Error(call)
	}
}

func TestTimesOfThePast(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		zone = time.FixedZone("CET", 3600)
	}
	now := time.Date(2026, 3, 30, 1, 30, 0, 0, zone) // the clocks went forward the day before
	for in, want := range map[string]string{
		"":                          "2026-03-30T01:30:00+02:00",
		"2026-03-01T12:00:00Z":      "2026-03-01T12:00:00Z",
		"2026-03-01T12:00:00+01:00": "2026-03-01T12:00:00+01:00",
		"2026-03-01T12:00:00 01:00": "2026-03-01T12:00:00+01:00",
		"2026-03-01T12:00:00.5Z":    "2026-03-01T12:00:00.5Z",
		"01:30":                     "2026-03-30T01:30:00+02:00",
		"01:30:01":                  "2026-03-29T01:30:01+01:00",
		"00:00":                     "2026-03-30T00:00:00+02:00",
		"23:59:59":                  "2026-03-29T23:59:59+02:00",
		"-10m":                      "2026-03-30T01:20:00+02:00",
		"-36h":                      "2026-03-28T12:30:00+01:00",
		"0s":                        "2026-03-30T01:30:00+02:00",
	} {
		if zone.String() == "CET" {
			break // a system without time zones
		}
		if got, err := when(now, in); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %v, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"10m", "24:00", "3pm", "2026-03-01", "2026-03-01 12:00", "now", "-", "12:00:61", "\x00", "1e9"} {
		if got, err := when(now, in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
}

func FuzzWhen(f *testing.F) {
	for _, s := range []string{"", "03:00", "2026-03-01T12:00:00+01:00", "-10m", "x y"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 30, 1, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := when(now, s)
		if err != nil && (!at.IsZero() || len(err.Error()) > 500) {
			t.Errorf("%q: %v, %v", s, at, err)
		}
		if _, e := time.Parse(time.RFC3339, strings.Replace(s, " ", "+", 1)); err == nil && e != nil && at.After(now) {
			t.Errorf("%q is in the future: %v", s, at)
		}
	})
}

func FuzzIfMatch(f *testing.F) {
	f.Add(`"12"`)
	f.Add(`W/"1"`)
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ifMatch([]string{s})
		if err == nil && s != "*" && (n == 0 || strings.TrimLeft(s, `"0+`) != strings.TrimLeft(etag(n), `"`)) {
			t.Errorf("%q is %d", s, n)
		}
	})
}

func TestReadiness(t *testing.T) {
	r := begin(t, Config{Token: "secret"})
	for _, path := range []string{"/healthz", "/readyz", "/readyz?usable", "/readyz?usable=1&other"} {
		if p := r.expect(200, "GET", path, ""); p.text != "ok\n" {
			t.Errorf("%s: %q", path, p.text)
		}
	}
	r.control.services = append(r.control.services, api.Service{Name: "old", Leaving: true}, api.Service{Name: "db"}, api.Service{Name: "mail"})
	r.expect(200, "GET", "/readyz", "")
	p := r.expect(503, "GET", "/readyz?usable", "")
	if f := p.fault(t); f.Code != api.CodeBusy || f.Message != "not ready: no usable backend in db, mail" {
		t.Error(p.text)
	}
	r.control.notReady = "draining"
	for _, path := range []string{"/readyz", "/readyz?usable"} {
		if p := r.expect(503, "GET", path, ""); p.fault(t).Message != "not ready: draining" {
			t.Error(p.text)
		}
	}
	r.expect(200, "GET", "/healthz", "")
	r.control.hangs = true
	if p := r.expect(503, "GET", "/healthz", ""); !strings.HasPrefix(p.fault(t).Message, "not turning: event loop 1: ") {
		t.Error(p.text)
	}
}

func TestOnlyAFewPlansAreMadeAtOneTime(t *testing.T) {
	r := begin(t, Config{})
	for range maxPlans {
		r.Server.plans <- struct{}{}
	}
	p := r.expect(503, "POST", "/api/v1/plan", "services: []", "Content-Type: application/yaml")
	if p.fault(t).Code != api.CodeBusy {
		t.Error(p.text)
	}
	<-r.Server.plans
	r.expect(200, "POST", "/api/v1/plan", "services: []", "Content-Type: application/yaml")
}
