package ctl

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func story() api.Explanation {
	at := time.Date(2026, 3, 14, 3, 0, 0, 0, time.UTC)
	return api.Explanation{
		Service: "redis", Backend: "b1", Address: "10.0.0.1:6379", At: at, State: "down", Since: at.Add(-108 * time.Second),
		Reason: "redis: it is loading", Story: []string{"It was up for 3 days.", "Then its check failed 3 times."},
		Transitions: []api.Transition{
			{Time: at.Add(-108 * time.Second), Source: "probe", From: "up", To: "down", Reason: "redis: it is loading", Step: "receive", Saw: "-LOADING \x1b[2J\r\n",
				Errno: "connection reset by peer", Took: api.Duration(1200 * time.Microsecond), Streak: 3, Sessions: 12, Usable: 2, Total: 3},
			{Time: at.Add(time.Minute), Source: "admin", From: "down", To: "drain", Reason: "drain", Who: "ann@desk", Sessions: 1, Usable: 2, Total: 3},
		},
	}
}

func TestExplainTellsEachTransitionOnceWithItsEvidence(t *testing.T) {
	f := newFake()
	f.story = story()
	d := newDesk(t, f)
	d.run("explain", "web/b1").want(t, 0, `
redis/b1 (10.0.0.1:6379) at 2026-03-14 03:00:00: down, since 2026-03-14 02:58:12 (1m48s)
  redis: it is loading

2026-03-14 02:58:12  up -> down  probe: redis: it is loading
    during receive, connection reset by peer, took 1.2ms, 3 in a row, 12 sessions, 2 of 3 usable after it
    saw "-LOADING \x1b[2J\r\n"
2026-03-14 03:01:00  down -> drain  admin (ann@desk): drain
    1 session, 2 of 3 usable after it
`, "")
	f.story = api.Explanation{Service: "web", Backend: "b1", Address: "a:1", At: began}
	d.run("explain", "web/b1").want(t, 0, "web/b1 (a:1) at 2026-03-14 02:00:00: not known\n", "")
	if r := d.run("explain", "web/b1", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"backend": "b1"`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
}

func TestExplainTakesTimesAsTheyAreWritten(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	for at, asked := range map[string]string{
		"10m":                       "-10m0s",
		"-10m":                      "-10m0s",
		"10m ago":                   "-10m0s",
		"2026-03-14T03:00:00Z":      "2026-03-14T03:00:00Z",
		"2026-03-14T03:00:00+02:00": "2026-03-14T03:00:00+02:00",
		"2026-03-14 03:00:00":       "2026-03-14T03:00:00+01:00", // as it is printed
		"2026-03-14 03:00":          "2026-03-14T03:00:00+01:00",
	} {
		if got, ok := (&Env{Zone: zone}).moment(at); got != asked || !ok {
			t.Errorf("%q: %q, %v, want %q", at, got, ok, asked)
		}
	}
	f := newFake()
	d := newDesk(t, f)
	d.run("explain", "redis/unix:/run/r1.sock", "--at", "10m")
	if got, want := f.requests(), "GET /services/redis/backends/unix:%2Frun%2Fr1.sock/explain?at=-10m0s"; !slices.Equal(got, []string{want}) {
		t.Errorf("asked %q, want %q", got, want)
	}
	d.run("explain", "web/b1", "--at", "teatime").refused(t, 2, `--at: "teatime" is not a time: write 15:04`)
	d.run("explain", "web").refused(t, 2, `"web" is not SERVICE/BACKEND`)
	d.run("explain", "web/b9").refused(t, 1, `no backend "b9" in web: it has b1, b2`)
}

func TestATimeOfDayIsTheNewestThatWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*time.Hour + 30*time.Minute) // it is 2000-01-01 10:30 UTC, 11:30 there
		e := &Env{Zone: time.FixedZone("CET", 3600)}
		for at, asked := range map[string]string{
			"03:00":    "2000-01-01T03:00:00+01:00",
			"11:30":    "2000-01-01T11:30:00+01:00",
			"11:30:01": "1999-12-31T11:30:01+01:00",
			"23:59":    "1999-12-31T23:59:00+01:00",
		} {
			if got, ok := e.moment(at); got != asked || !ok {
				t.Errorf("%q: %q, %v, want %q", at, got, ok, asked)
			}
		}
	})
}

func TestPickSaysWhoAndWhyAndWhoNot(t *testing.T) {
	f := newFake()
	f.pick = api.Pick{
		Service: "web", Source: "10.1.2.3", Balance: "maglev", Choice: "b1", Certain: true, Why: "its slot of the table is b1's", Key: "9f3c", Digest: "77aa",
		Candidates: []api.Candidate{{Backend: "b1", Tier: 1, Health: "up", Weight: 1, Sessions: 5}, {Backend: "b3", Tier: 2, Priority: 1, Health: "unknown", Weight: 10}},
		Excluded:   []api.Excluded{{Backend: "b2", Reason: "down: http: status 503"}},
	}
	d := newDesk(t, f)
	d.run("pick", "web", "--source", "10.1.2.3").want(t, 0, `
10.1.2.3 gets web/b1 (maglev)
  its slot of the table is b1's
  key 9f3c, table 77aa

CANDIDATE  TIER  PRIORITY  HEALTH   WEIGHT  SESSIONS
b1            1         0  up            1         5
b3            2         1  unknown      10         0

not b2: down: http: status 503
`, "")
	f.pick = api.Pick{Service: "web", Source: "::1", Balance: "p2c", Choice: "b1"}
	d.run("pick", "web", "--source", "::1").want(t, 0, "::1 would get web/b1 (p2c), but the next moment may be another's\n", "")
	f.pick.Choice = ""
	d.run("pick", "web", "--source", "::1").want(t, 0, "::1 would get no backend of web (p2c)\n", "")
	if r := d.run("pick", "web", "--source", "::1", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"source": "::1"`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	f.requests()
	d.run("pick", "web", "--source", "2001:db8::1")
	if got := f.requests(); !slices.Equal(got, []string{"GET /services/web/pick?source=2001%3Adb8%3A%3A1"}) {
		t.Errorf("asked %q", got)
	}
	d.run("pick", "web").refused(t, 2, "which client? Give --source IP")
	d.run("pick", "web/b1", "--source", "::1").refused(t, 2, "is not a SERVICE")
	d.run("pick", "web", "--source", "example.org").refused(t, 2, `--source: "example.org" is not an IP address`)
	d.run("pick", "wbe", "--source", "::1").refused(t, 1, `no service "wbe"`)
}

func TestFailuresShowEachBackendThatWasTried(t *testing.T) {
	f := newFake()
	f.failures = []api.Failure{
		{Time: began, Service: "web", Client: "10.1.2.3:4", Who: "sluice", Why: "connect-failed", Duration: api.Duration(3 * time.Second), Held: api.Duration(time.Second),
			Attempts: []api.Attempt{{Backend: "b1", Error: "connection refused", Took: api.Duration(time.Millisecond)}, {Backend: "b2", Error: "timeout", Took: api.Duration(2 * time.Second)}}},
		{Time: began, Service: "web", Client: "10.1.2.4:4", Backend: "b1", Who: "client", Why: "eof", Duration: api.Duration(time.Minute)},
	}
	d := newDesk(t, f)
	d.run("failures").want(t, 0, `
2026-03-14 02:00:00  web  10.1.2.3:4  failed: sluice connect-failed after 3s
    waited 1s for a backend
    tried b1: connection refused (1ms)
    tried b2: timeout (2s)
2026-03-14 02:00:00  web  10.1.2.4:4  got b1: client eof after 1m
`, "")
	if r := d.run("failures", "web", "--limit", "5", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"why": "eof"`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	if got := f.requests(); !slices.Equal(got, []string{"GET /failures?limit=100", "GET /failures?limit=5&service=web"}) {
		t.Errorf("asked %q", got)
	}
	f.failures = nil
	d.run("failures").want(t, 0, "no session failed or was retried\n", "")
	f.services[0].Ended = map[string]int64{"eof": 9, "denied": 1200, "limit-rate": 3, "proxy-header": 0, "no-backend": 5}
	d.run("failures").want(t, 0, "no session failed or was retried\nweb turned away since it began: 1200 denied, 3 limit-rate\n", "")
	d.run("failures", "redis").want(t, 0, "no session failed or was retried\n", "")
	d.run("failures", "--limit", "-1").refused(t, 2, "--limit")
	d.run("failures", "a", "b").refused(t, 2, "one argument too many")
}
