package ctl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestStatusElsewhereThanOnATerminalIsOneLineABackend(t *testing.T) {
	newDesk(t, newFake()).run("status").want(t, 0, `
sluice v1.2.3  up 1h  12 sessions  3/4 usable  revision 17

web  10.0.0.10:443  least-conn  7 sessions  1/2 usable
  BACKEND            STATE    WEIGHT  PRIO  SESSIONS   TOTAL  CONNECT   P99  SINCE  REASON
  b1                 up            1     0         5  120345    850µs  12ms    50m
  b2                 down         10     0         2       7        -     -     5m  http: status 503, want 200-399

redis  127.0.0.1:6379, unix:/run/redis.sock  first  5 sessions  2/2 usable
  BACKEND            STATE    WEIGHT  PRIO  SESSIONS   TOTAL  CONNECT   P99  SINCE  REASON
  unix:/run/r1.sock  up            1     0         5    2.3M        -     -     1h
  [::1]:6380         unknown       1     1         0       0        -     -     1h
`, "")
}

func TestStatusFitsATerminal(t *testing.T) {
	f := newFake()
	f.services = f.services[:1]
	f.services[0].Name, f.services[0].Listen = "a-service-with-a-name-that-goes-on-and-on-and-on", []string{"[2001:db8:1:2:3:4:5:6]:443", "0.0.0.0:80"}
	f.services[0].Backends[1].Name = "a-backend-with-a-long-name.example.org:8443"
	f.services[0].Backends[1].Reason = strings.Repeat("very long reason ", 10)
	d := newDesk(t, f)
	d.vars["NO_COLOR"] = "1"
	d.width, d.height = 80, 24
	d.run("status").want(t, 0, `
sluice v1.2.3  up 1h  12 sessions  3/4 usable  revision 17

a-service-wit…-and-on-and-on  [2001:….0.0:80  least-conn  7 sessions  1/2 usable
  BACKEND                  STATE  WEIGHT  SESSIONS   TOTAL  CONNECT   P99  SINCE
  b1                       up          1         5  120345    850µs  12ms    50m
  a-backend-w…le.org:8443  down       10         2       7        -     -     5m
    very long reason very long reason very long reason very long reason very lo…
`, "")
	for _, width := range []int{80, 100, 132, 200} {
		d.width = width
		for line := range strings.Lines(d.run("status").stdout) {
			if w := len([]rune(strings.TrimRight(line, "\n"))); w > width {
				t.Errorf("%d columns in a terminal of %d: %s", w, width, line)
			}
		}
	}
	if wide := d.run("status").stdout; !strings.Contains(wide, "5m  very long reason") {
		t.Errorf("no reason beside its backend where there is room:\n%s", wide)
	}
}

func TestColorIsForTerminalsThatWantIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		vars  map[string]string
		color bool
	}{
		{"a terminal", 80, nil, true},
		{"a pipe", 0, nil, false},
		{"NO_COLOR", 80, map[string]string{"NO_COLOR": "1"}, false},
		{"a dumb terminal", 80, map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, newFake())
			d.width, d.height = c.width, 24
			for name, value := range c.vars {
				d.vars[name] = value
			}
			got := d.run("status").stdout
			if strings.Contains(got, "\x1b") != c.color {
				t.Errorf("%q", got)
			}
			if c.color && !strings.Contains(got, "\x1b[31mdown\x1b[0m") {
				t.Errorf("down is not red: %q", got)
			}
		})
	}
}

func TestStatusSaysWhatIsSpecialAboutTheProcess(t *testing.T) {
	f := newFake()
	f.services = nil
	f.status.Version = "sluice (devel) c1b2935 go1.26.8 linux/amd64"
	f.status.Ready, f.status.NotReady = false, "the first round of probes has not ended"
	f.status.Reload = api.Reload{Refused: 1, Time: ago(3 * time.Minute), Error: "s.yaml:3:1: unknown key \"x\"\ns.yaml:9:1: no\x1b[2J"}
	f.status.Descriptors = api.Descriptors{Limit: 1024, Shed: 3}
	f.status.LogDropped = 1
	d := newDesk(t, f)
	d.run("status").want(t, 0, `
sluice (devel)  up 1h  12 sessions  3/4 usable  revision 17
not ready: the first round of probes has not ended
reload refused 3m ago, the file before it is in force:
  s.yaml:3:1: unknown key "x"
  s.yaml:9:1: no\x1b[2J
3 clients closed for want of descriptors, the limit is 1024
1 log record dropped
`, "")
	f.status = api.Status{Draining: true, NotReady: "draining"}
	d.run("status").want(t, 0, `
sluice  up 0s  0 sessions  0/0 usable  revision 0
draining: it takes no new clients and ends with the last session
`, "")
}

func TestStatusSaysWhatIsSpecialAboutAService(t *testing.T) {
	f := newFake()
	left := api.Duration(12 * time.Second)
	f.services = f.services[:1]
	s := &f.services[0]
	s.Paused, s.Leaving, s.Held, s.Usable, s.Backends = &left, true, 3, 0, nil
	newDesk(t, f).run("status", "web").want(t, 0, `
sluice v1.2.3  up 1h  12 sessions  3/4 usable  revision 17

web  10.0.0.10:443  least-conn  7 sessions  (3 waiting)  0/0 usable
  leaving: removed, its sessions go on until their deadline
  paused: new clients wait, for 12s more at most
  BACKEND  STATE  WEIGHT  SESSIONS  TOTAL  CONNECT  P99  SINCE  REASON
`, "")
}

func TestPrioritiesAndLimitsAreShownWhereThereAreAny(t *testing.T) {
	f := newFake()
	f.services = f.services[:1]
	b := f.services[0].Backends
	b[0].MaxConnections, b[1].Priority = 2000, 3
	f.services[0].Lost = []string{"10.0.0.10:443: invalid argument"}
	newDesk(t, f).run("status", "web").want(t, 0, `
sluice v1.2.3  up 1h  12 sessions  3/4 usable  revision 17

web  10.0.0.10:443  least-conn  7 sessions  1/2 usable
  listener lost: 10.0.0.10:443: invalid argument
  BACKEND  STATE  WEIGHT  PRIO  SESSIONS   MAX   TOTAL  CONNECT   P99  SINCE  REASON
  b1       up          1     0         5  2000  120345    850µs  12ms    50m
  b2       down       10     3         2     -       7        -     -     5m  http: status 503, want 200-399
`, "")
}

func TestAStateIsOneWord(t *testing.T) {
	for _, c := range []struct {
		b     api.Backend
		state string
		out   bool
		color string
	}{
		{api.Backend{Health: "up", Admin: api.Ready, Usable: true, Weight: 1}, "up", false, ""},
		{api.Backend{Health: "up", Admin: api.Ready, Weight: 0}, "up", false, ""},
		{api.Backend{Health: "up", Admin: api.Ready, Weight: 1}, "up", true, yellow}, // another has the writer's place
		{api.Backend{Health: "unknown", Admin: api.Ready, Usable: true, Weight: 1}, "unknown", false, yellow},
		{api.Backend{Health: "down", Admin: api.Ready, Weight: 1}, "down", true, red},
		{api.Backend{Health: "down", Admin: api.Ready, Ejected: true}, "down", true, red},
		{api.Backend{Health: "up", Admin: api.Ready, Ejected: true}, "ejected", true, red},
		{api.Backend{Health: "up", Admin: api.Drain}, "drain", true, yellow},
		{api.Backend{Health: "down", Admin: api.Maint}, "maint", true, yellow},
		{api.Backend{Health: "down", Admin: api.Drain, Leaving: true}, "leaving", true, yellow},
	} {
		if state(c.b) != c.state || out(c.b) != c.out || tint(c.b) != c.color {
			t.Errorf("%+v: %s, out %v, color %q; want %s, %v, %q", c.b, state(c.b), out(c.b), tint(c.b), c.state, c.out, c.color)
		}
	}
}

func TestProblemsShowsOnlyServicesWithSomethingOut(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	if got := d.run("status", "--problems").stdout; !strings.Contains(got, "\nweb ") || strings.Contains(got, "\nredis ") {
		t.Errorf("web has something out, redis has not:\n%s", got)
	}
	d.run("status", "--problems", "redis").want(t, 0, `
sluice v1.2.3  up 1h  12 sessions  3/4 usable  revision 17

nothing is out: 1 service, 2 backends
`, "")
	pause := api.Duration(time.Second)
	f.services[1].Paused = &pause
	if got := d.run("status", "--problems").stdout; !strings.Contains(got, "\nredis ") {
		t.Errorf("redis is paused:\n%s", got)
	}
}

func TestStatusAsJSONIsWhatTheServerSays(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	var got struct {
		Status   api.Status
		Services []api.Service
	}
	for args, services := range map[string]int{"": 2, "redis": 1, "--problems": 1, "redis --problems": 0} {
		r := d.run(append([]string{"status", "--json"}, strings.Fields(args)...)...)
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.status != 0 {
			t.Fatalf("status %d, %v: %s", r.status, err, r.stderr)
		}
		if len(got.Services) != services || got.Status.Revision != 17 {
			t.Errorf("%q: %d services, revision %d; want %d, 17", args, len(got.Services), got.Status.Revision, services)
		}
	}
}

func TestNothingHostileReachesATerminal(t *testing.T) {
	const evil = "\x1b]0;owned\a\u009b2J\r\nfake line\u202e"
	f := newFake()
	b := &f.services[0].Backends[1]
	b.Reason, b.Name, f.services[0].Listen = evil, evil, []string{evil}
	f.status.NotReady, f.status.Ready = evil, false
	f.sessions = api.Sessions{Total: 5, Sessions: []api.Session{{ID: evil, Client: evil, Backend: evil, Phase: evil}}}
	f.failures = []api.Failure{{Service: evil, Client: evil, Backend: evil, Who: evil, Why: evil, Attempts: []api.Attempt{{Backend: evil, Error: evil}}}}
	f.events = []api.Event{{ID: 1, Kind: evil, Service: evil, Backend: evil, Text: evil, Who: evil}}
	f.story = api.Explanation{Service: evil, Backend: evil, Address: evil, State: evil, Reason: evil, Story: []string{evil}, Transitions: []api.Transition{
		{Source: evil, From: evil, To: evil, Reason: evil, Step: evil, Saw: evil, Errno: evil, Who: evil}}}
	f.pick = api.Pick{Service: evil, Source: evil, Balance: evil, Choice: evil, Why: evil, Key: evil, Digest: evil,
		Candidates: []api.Candidate{{Backend: evil, Health: evil}}, Excluded: []api.Excluded{{Backend: evil, Reason: evil}}}
	f.plan = api.Plan{Changes: []api.Change{{Service: evil, Backend: evil, Action: evil, Key: evil, From: evil, To: evil, Note: evil}},
		Moved: []api.Moved{{Service: evil, Balance: evil}}}
	d := newDesk(t, f)
	for _, line := range []string{
		"status", "status web", "status --json", "sessions", "sessions --json", "failures", "failures --json", "events", "events --json",
		"explain web/b1", "explain web/b1 --json", "pick web --source 1.2.3.4", "pick web --source 1.2.3.4 --json", "reload", "reload --json", "drain web --all",
	} {
		r := d.run(strings.Fields(line)...)
		if r.status != 0 {
			t.Errorf("%s: status %d: %s", line, r.status, r.stderr)
		}
		hostile(t, line, r)
	}
	f.fault = &api.Fault{Code: api.CodeConfig, Message: evil, Faults: []string{evil}}
	for _, line := range []string{"reload", "drain web/b1", "status web\x1b", "drain web/\u202e", "ready \x1b/\x1b"} {
		r := d.run(strings.Fields(line)...)
		if r.status != 1 {
			t.Errorf("%s: status %d", line, r.status)
		}
		hostile(t, line, r)
	}
}

func hostile(t *testing.T, line string, r result) {
	t.Helper()
	for _, bad := range []string{"\x1b", "\a", "\u009b", "\r", "\u202e", "\nfake"} {
		if strings.Contains(r.stdout+r.stderr, bad) {
			t.Errorf("%q prints %q:\n%q", line, bad, r.stdout+r.stderr)
		}
	}
}

func TestStatusOfManyIsComplete(t *testing.T) {
	f := newFake()
	f.services = nil
	for i := range 200 {
		s := api.Service{Name: fmt.Sprintf("s%d", i), Listen: []string{":80"}, Balance: "p2c", Usable: 25}
		for k := range 25 {
			s.Backends = append(s.Backends, api.Backend{Name: fmt.Sprintf("b%d", k), Weight: 1, Health: "up", Admin: api.Ready, Usable: true, Since: ago(time.Hour)})
		}
		f.services = append(f.services, s)
	}
	d := newDesk(t, f)
	d.width, d.height = 80, 24
	r := d.run("status")
	if n := strings.Count(r.stdout, " up "); r.status != 0 || n != 5001 { // and the process is up
		t.Errorf("status %d, %d backends are up, want 5000", r.status, n-1)
	}
}

func TestStatusRefusesWhatMakesNoSense(t *testing.T) {
	d := newDesk(t, newFake())
	for line, says := range map[string]string{
		"status a b":              "one argument too many: \"b\"",
		"status --watch a b":      "one argument too many: \"b\"",
		"status a b c":            "one argument too many: \"c\"",
		"status --watch=1ms":      "at least 100ms",
		"status --watch --json":   "do not go together",
		"status --timeout 0s":     "--timeout: must be above 0",
		"status --timeout x":      "invalid argument",
		"status --admin nowhere":  "is not an address",
		"status --watch=tomorrow": "invalid argument",
	} {
		d.run(strings.Fields(line)...).refused(t, 2, says)
	}
	d.run("status", "").refused(t, 2, "an argument is empty")
	d.run("status", "wbe").refused(t, 1, `no service "wbe": there are web, redis`)
}

func TestTheLinesAboveTheTableFitToo(t *testing.T) {
	f := newFake()
	f.services = f.services[:1]
	s := &f.services[0]
	s.Name, s.Listen, s.Balance = strings.Repeat("name", 20), []string{"[2001:db8:1:2:3:4:5:6]:443"}, "source-hash"
	s.Sessions, s.Held, s.Usable = 12_345_678, 1234, 100
	f.status.Version, f.status.Sessions, f.status.Revision = "v12.34.56-rc.78+meta.data", 123_456_789, 1_234_567_890
	f.status.Uptime, f.status.Usable, f.status.Backends = api.Duration(99*24*time.Hour+23*time.Hour), 4999, 5000
	d := newDesk(t, f)
	d.vars["NO_COLOR"] = "1"
	d.width, d.height = 80, 24
	for line := range strings.Lines(d.run("status").stdout) {
		if w := width(strings.TrimSuffix(line, "\n")); w > 80 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
}
