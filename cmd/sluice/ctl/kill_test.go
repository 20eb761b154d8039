package ctl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestKillSelectsWhatIsGiven(t *testing.T) {
	for line, asked := range map[string]string{
		"kill web/b1":                              "POST /services/web/backends/b1/kill",
		"kill redis/unix:/run/r1.sock":             "POST /services/redis/backends/unix:%2Frun%2Fr1.sock/kill",
		"kill web --yes":                           `POST /sessions/kill {"service":"web"}`,
		"kill --id web/123":                        `POST /sessions/kill {"id":"web/123"}`,
		"kill --client 10.1.2.3":                   `POST /sessions/kill {"client":"10.1.2.3"}`,
		"kill --client 2001:db8::/32 web":          `POST /sessions/kill {"service":"web","client":"2001:db8::/32"}`,
		"kill web/b1 --client 10.0.0.0/8":          `POST /sessions/kill {"service":"web","backend":"b1","client":"10.0.0.0/8"}`,
		"kill web --min-age 1h":                    `POST /sessions/kill {"service":"web","min_age":"1h0m0s"}`,
		"kill --client 0.0.0.0/0 -y":               `POST /sessions/kill {"client":"0.0.0.0/0"}`,
		"kill web/b1 --id web/5 --client 10.0.0.1": `POST /sessions/kill {"id":"web/5","service":"web","backend":"b1","client":"10.0.0.1"}`,
	} {
		f := newFake()
		f.killed = 5
		r := newDesk(t, f).run(strings.Fields(line)...)
		r.want(t, 0, "5 sessions killed\n", "")
		if got := f.requests(); !slices.Equal(got, []string{asked}) {
			t.Errorf("%s: asked %q, want %q", line, got, asked)
		}
	}
}

func TestKillRefusesWhatMakesNoSense(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	for line, says := range map[string]string{
		"kill":                        "which sessions?",
		"kill --yes":                  "which sessions?",
		"kill web/":                   `"web/" is not SERVICE or SERVICE/BACKEND`,
		"kill /b1":                    `"/b1" is not SERVICE or SERVICE/BACKEND`,
		"kill --id 123":               `--id: "123" is not SERVICE/NUMBER`,
		"kill --client localhost":     `--client: "localhost" is not an address or a CIDR`,
		"kill --client 10.0.0.0/33":   "is not an address or a CIDR",
		"kill web --min-age -1s":      "--min-age: must not be below 0",
		"kill web/b1 web/b2":          "one argument too many",
		"kill web":                    "this selects all of web: say --yes",
		"kill --client ::/0":          "this selects clients of every service: say --yes",
		"kill --min-age 1s":           "this selects clients of every service: say --yes",
		"kill web --client 0.0.0.0/0": "this selects all of web: say --yes",
	} {
		d.run(strings.Fields(line)...).refused(t, 2, says)
	}
	if got := f.requests(); got != nil {
		t.Errorf("asked %q", got)
	}
	d.run("kill", "web/b9").refused(t, 1, `no backend "b9" in web: it has b1, b2`)
}

func TestAWholeServiceIsKilledAfterAQuestion(t *testing.T) {
	const question = "kill 7 sessions, which is all of web? [y/N] "
	for typed, kills := range map[string]bool{"y\n": true, "YES\n": true, " y \n": true, "y": true, "n\n": false, "\n": false, "": false, "yep\n": false} {
		f := newFake()
		f.sessions.Total, f.killed = 7, 7
		d := newDesk(t, f)
		d.keyboard, d.typed = true, typed
		r := d.run("kill", "web")
		if kills {
			r.want(t, 0, "7 sessions killed\n", question)
		} else {
			r.want(t, 1, "", question+"nothing was killed\n")
		}
		if got := slices.Contains(f.requests(), `POST /sessions/kill {"service":"web"}`); got != kills {
			t.Errorf("%q: killed %v, want %v", typed, got, kills)
		}
	}
}

func TestSessionsAreListed(t *testing.T) {
	f := newFake()
	f.sessions = api.Sessions{Total: 3, Sessions: []api.Session{
		{ID: "web/1", Client: "10.1.2.3:40000", Backend: "b1", Phase: "relaying", Age: api.Duration(26 * time.Hour), BytesToBackend: 1234, BytesToClient: 1_234_567_890},
		{ID: "web/12345", Client: "[2001:db8:1:2:3:4:5:6]:40000", Phase: "held", Age: api.Duration(1500 * time.Millisecond)},
	}}
	d := newDesk(t, f)
	d.run("sessions").want(t, 0, `
ID         CLIENT                        BACKEND  PHASE      AGE    SENT  RECEIVED
web/1      10.1.2.3:40000                b1       relaying  1d2h  1.2 kB    1.2 GB
web/12345  [2001:db8:1:2:3:4:5:6]:40000  -        held      1.5s     0 B       0 B
2 of 3 sessions; --limit 0 shows all
`, "")
	d.width, d.height = 70, 24
	d.vars["NO_COLOR"] = "1"
	d.run("sessions").want(t, 0, `
ID         CLIENT            BACKEND  PHASE      AGE    SENT  RECEIVED
web/1      10.1.2.3:40000    b1       relaying  1d2h  1.2 kB    1.2 GB
web/12345  [2001:d…6]:40000  -        held      1.5s     0 B       0 B
2 of 3 sessions; --limit 0 shows all
`, "")
	if r := d.run("sessions", "--json"); r.status != 0 || !strings.Contains(r.stdout, `"client": "10.1.2.3:40000"`) {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	f.sessions = api.Sessions{}
	d.run("sessions").want(t, 0, "no sessions\n", "")
}

func TestSessionsAsksForWhatIsSelected(t *testing.T) {
	for line, asked := range map[string]string{
		"sessions":     "GET /sessions?limit=1000&sort=age",
		"sessions web": "GET /sessions?limit=1000&service=web&sort=age",
		"sessions redis/unix:/run/r1.sock --sort bytes --limit 0": "GET /sessions?backend=unix%3A%2Frun%2Fr1.sock&limit=0&service=redis&sort=bytes",
		"sessions --client 10.0.0.0/8 --min-age 1m":               "GET /sessions?client=10.0.0.0%2F8&limit=1000&min_age=1m0s&sort=age",
	} {
		f := newFake()
		if r := newDesk(t, f).run(strings.Fields(line)...); r.status != 0 {
			t.Errorf("%s: %s", line, r.stderr)
		}
		if got := f.requests(); !slices.Equal(got, []string{asked}) {
			t.Errorf("%s: asked %q, want %q", line, got, asked)
		}
	}
	d := newDesk(t, newFake())
	d.run("sessions", "--sort", "name").refused(t, 2, `--sort: "name" is not one of age, bytes, client, backend`)
	d.run("sessions", "--limit", "-1").refused(t, 2, "--limit: must not be below 0")
	d.run("sessions", "a", "b").refused(t, 2, "one argument too many")
	d.run("sessions", "--client", "x").refused(t, 2, "--client")
}

func TestAServiceIsPausedAndResumed(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	d.run("pause", "redis").want(t, 0, "redis: paused for 30s; 'sluice resume redis' ends it before\n", "")
	d.run("pause", "redis", "--for", "1m30s").want(t, 0, "redis: paused for 1m30s; 'sluice resume redis' ends it before\n", "")
	d.run("resume", "redis").want(t, 0, "redis: was not paused\n", "")
	f.wasPaused = true
	d.run("resume", "redis").want(t, 0, "redis: resumed\n", "")
	want := []string{`POST /services/redis/pause {"for":"30s"}`, `POST /services/redis/pause {"for":"1m30s"}`, "POST /services/redis/resume", "POST /services/redis/resume"}
	if got := f.requests(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
	for _, c := range []struct {
		line   string
		status int
		says   string
	}{
		{"pause", 2, "an argument is missing: SERVICE"},
		{"pause redis/b1", 2, `"redis/b1" is not a SERVICE`},
		{"resume redis/b1", 2, `"redis/b1" is not a SERVICE`},
		{"pause redis --for 0s", 2, "--for: must be above 0 and at most 1h"},
		{"pause redis --for 2h", 2, "--for: must be above 0 and at most 1h"},
		{"pause wbe", 1, `no service "wbe": there are web, redis`},
		{"resume wbe", 1, `no service "wbe": there are web, redis`},
	} {
		d.run(strings.Fields(c.line)...).refused(t, c.status, c.says)
	}
}

func TestNothingIsNoAnswerToANameThatIsNotThere(t *testing.T) {
	d := newDesk(t, newFake())
	for line, says := range map[string]string{
		"sessions wbe":             `no service "wbe": there are web, redis`,
		"sessions web/b9":          `no backend "b9" in web: it has b1, b2`,
		"events wbe":               `no service "wbe"`,
		"events wbe --follow":      `no service "wbe"`,
		"failures wbe":             `no service "wbe"`,
		"kill wbe --yes":           `no service "wbe"`,
		"kill wbe --min-age 1h":    `no service "wbe"`,
		"kill web/b9 --min-age 1h": `no backend "b9" in web`,
	} {
		d.run(strings.Fields(line)...).refused(t, 1, says)
	}
	d.run("kill", "web", "--min-age", "1h").want(t, 0, "0 sessions killed\n", "")
	d.run("sessions", "web/b1").want(t, 0, "no sessions\n", "")
	d.run("failures", "web").want(t, 0, "no session failed or was retried\n", "")
}
