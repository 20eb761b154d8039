package ctl

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestBackendsAreChangedAddedAndRemoved(t *testing.T) {
	for _, c := range []struct {
		line           string
		stdout, stderr string
		asked          string
	}{
		{"weight web/b1 10", "web/b1: weight 10\n", "", `PUT /services/web/backends/b1/weight {"weight":10}`},
		{"weight web/b1 0", "web/b1: weight 0\n", "warning: web has no usable backend now: new clients wait or are refused\n",
			`PUT /services/web/backends/b1/weight {"weight":0}`},
		{"set web/b1 --max-connections 9 --priority 2", "web/b1: weight 1, priority 2, at most 9 sessions\n", "",
			`PATCH /services/web/backends/b1 {"priority":2,"max_connections":9}`},
		{"set web/b1 --max-connections 0 --weight 0", "web/b1: weight 0, priority 0, no limit\n",
			"warning: web has no usable backend now: new clients wait or are refused\n", `PATCH /services/web/backends/b1 {"weight":0,"max_connections":0}`},
		{"add web 10.0.0.4:80", "web/10.0.0.4:80 added: 10.0.0.4:80, weight 1, unknown\n", "", `POST /services/web/backends {"address":"10.0.0.4:80"}`},
		{"add web unix:/run/b --name b4 --weight 0 --priority 1 --max-connections 9", "web/b4 added: unix:/run/b, weight 0, unknown\n", "",
			`POST /services/web/backends {"address":"unix:/run/b","name":"b4","weight":0,"priority":1,"max_connections":9}`},
		{"remove web/b2", "web/b2 removed\n", "", "DELETE /services/web/backends/b2"},
		{"remove redis/[::1]:6380 --within never", "redis/[::1]:6380 removed\n", "", "DELETE /services/redis/backends/%5B::1%5D:6380?within=0s"},
		{"remove web/b2 --now", "web/b2 removed\n", "", "DELETE /services/web/backends/b2?within=1ms"},
		{"remove web/b2 --within 1m30s", "web/b2 removed\n", "", "DELETE /services/web/backends/b2?within=1m30s"},
		{"remove web/b1", "web/b1 removed\n", "warning: web has no usable backend now: new clients wait or are refused\n", "DELETE /services/web/backends/b1"},
	} {
		t.Run(c.line, func(t *testing.T) {
			f := newFake()
			newDesk(t, f).run(strings.Fields(c.line)...).want(t, 0, c.stdout, c.stderr)
			if got := f.requests(); !slices.Equal(got, []string{c.asked}) {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
		})
	}
}

func TestWhatBecomesOfARemovedBackendsSessions(t *testing.T) {
	for want, r := range map[string]api.Removed{
		"":                                  {Within: api.Duration(time.Minute)},
		": 1 session goes on until the end": {Sessions: 1},
		": 5 sessions go on, to be reset after 30s": {Sessions: 5, Within: api.Duration(30 * time.Second)},
	} {
		if got := left(r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

func TestChangesAsJSONAreWhatTheServerSays(t *testing.T) {
	f := newFake()
	f.removed = api.Removed{Sessions: 2, Within: api.Duration(time.Second)}
	d := newDesk(t, f)
	for line, has := range map[string]string{
		"weight web/b1 10 --json":      `"weight": 10`,
		"set web/b1 --weight 3 --json": `"weight": 3`,
		"add web 1.2.3.4:5 --json":     `"address": "1.2.3.4:5"`,
		"remove web/b2 --json":         "{\n  \"sessions\": 2,\n  \"within\": \"1s\"\n}\n",
		"kill web/b1 --json":           `{` + "\n" + `  "killed": 5`,
	} {
		if r := d.run(strings.Fields(line)...); r.status != 0 || !strings.Contains(r.stdout, has) {
			t.Errorf("%s: status %d, %s%s", line, r.status, r.stdout, r.stderr)
		}
	}
}

func TestChangesThatMakeNoSenseAreRefused(t *testing.T) {
	d := newDesk(t, newFake())
	for _, c := range []struct {
		line   string
		status int
		says   string
	}{
		{"weight web/b1", 2, "an argument is missing: SERVICE/BACKEND N"},
		{"weight web 1", 2, `"web" is not SERVICE/BACKEND`},
		{"weight web/b1 257", 2, `"257" is not a weight: 0 to 256`},
		{"weight web/b1 heavy", 2, `"heavy" is not a weight`},
		{"weight web/b1 1 2", 2, "one argument too many"},
		{"weight web/b9 1", 1, `no backend "b9" in web: it has b1, b2`},
		{"set web/b1", 2, "what? Give --weight, --priority or --max-connections"},
		{"set web --weight 1", 2, `"web" is not SERVICE/BACKEND`},
		{"set web/b1 --weight 300", 2, "--weight: must be 0 to 256"},
		{"set web/b1 --max-connections -1", 2, "must not be below 0"},
		{"set web/b9 --weight 1", 1, `no backend "b9" in web`},
		{"add web", 2, "an argument is missing: SERVICE ADDRESS"},
		{"add web/b4 1.2.3.4:5", 2, "the backend's name is given by --name"},
		{"add web 1.2.3.4:5 --weight 300", 2, "--weight: must be 0 to 256"},
		{"add web 1.2.3.4:5 --priority -1", 2, "must not be below 0"},
		{"add wbe 1.2.3.4:5", 1, `no service "wbe"`},
		{"remove web", 2, `"web" is not SERVICE/BACKEND`},
		{"remove web/b1 --within -1s", 2, `--within: "-1s" is not a time above 0`},
		{"remove web/b1 --within 0s", 2, "never is for no bound, and --now for at once"},
		{"remove web/b1 --within soon", 2, `--within: "soon" is not a time above 0`},
		{"remove web/b1 --within 1s --now", 2, "--now and --within: give one of them"},
		{"remove web/b9", 1, `no backend "b9" in web`},
	} {
		d.run(strings.Fields(c.line)...).refused(t, c.status, c.says)
	}
}

func TestRemoveWaitsUntilTheBackendIsGone(t *testing.T) {
	f := newFake()
	f.drains = 1
	f.removed = api.Removed{Sessions: 2, Within: api.Duration(time.Minute)}
	inBubble(t, f, func(t *testing.T, d *desk) {
		began := time.Now()
		d.run("remove", "web/b2", "--wait").want(t, 0, `
web/b2 removed: 2 sessions go on, to be reset after 1m
web/b2 is gone
`, "")
		if took := time.Since(began); took != 0 { // the warning's look, and then the first of the wait
			t.Errorf("it took %v", took)
		}
	})
	f = newFake()
	f.drains = 1
	f.services[0].Backends[1].Sessions = 4
	inBubble(t, f, func(t *testing.T, d *desk) {
		d.run("remove", "web/b2", "--wait").want(t, 0, "web/b2 removed\nweb/b2 is gone\n", "web/b2: 2 sessions left\nweb/b2: 1 session left\n")
	})
}

func TestAnInterruptEndsTheWaitOfRemove(t *testing.T) {
	inBubble(t, newFake(), func(t *testing.T, d *desk) {
		ctx, cancel := context.WithTimeout(d.ctx, 1500*time.Millisecond)
		defer cancel()
		d.ctx = ctx
		d.env.Interrupt = func(ctx context.Context) (context.Context, context.CancelFunc) {
			inner, stop := context.WithCancel(context.WithoutCancel(ctx))
			context.AfterFunc(ctx, stop)
			return inner, stop
		}
		r := d.run("remove", "web/b2", "--wait")
		if r.status != 1 || !strings.Contains(r.stderr, "interrupted: web/b2 is removed, its sessions go on") {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
	})
}

func TestNamesAreOneSegmentOfAPath(t *testing.T) {
	for name, want := range map[string]string{
		"b1":               "b1",
		"unix:/run/x.sock": "unix:%2Frun%2Fx.sock",
		"[::1]:80":         "%5B::1%5D:80",
		"50%off?#x":        "50%25off%3F%23x",
		"%2f":              "%252f",
		"..":               "%2E%2E",
		".":                "%2E",
		"a+b&c=d;e":        "a+b&c=d%3Be",
		"日本":               "%E6%97%A5%E6%9C%AC",
	} {
		f := newFake()
		f.services[0].Backends[0].Name = name
		newDesk(t, f).run("weight", "web/"+name, "3").want(t, 0, "web/"+name+": weight 3\n", "")
		if got := f.requests(); !slices.Equal(got, []string{"PUT /services/web/backends/" + want + `/weight {"weight":3}`}) {
			t.Errorf("%s: asked %q", name, got)
		}
	}
}
