package ctl

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestStatesAreSet(t *testing.T) {
	for _, c := range []struct {
		line           string
		stdout, stderr string
		asked          []string
	}{
		{"drain web/b2", "web/b2: drain, 2 sessions\n", "",
			[]string{`PUT /services/web/backends/b2/admin {"state":"drain"}`}},
		{"drain web/b1", "web/b1: drain, 5 sessions\n", "warning: web has no usable backend now: new clients wait or are refused\n",
			[]string{`PUT /services/web/backends/b1/admin {"state":"drain"}`}},
		{"maint web/b2 --kill", "web/b2: maint, 2 sessions\n2 sessions killed\n", "",
			[]string{`PUT /services/web/backends/b2/admin {"state":"maint"}`, "POST /services/web/backends/b2/kill"}},
		{"maint redis --all", "redis/unix:/run/r1.sock: maint, 5 sessions\nredis/[::1]:6380: maint, 0 sessions\n",
			"warning: redis has no usable backend now: new clients wait or are refused\n",
			[]string{`PUT /services/redis/backends/unix:%2Frun%2Fr1.sock/admin {"state":"maint"}`, `PUT /services/redis/backends/%5B::1%5D:6380/admin {"state":"maint"}`}},
		{"ready web/b1", "web/b1: ready, 5 sessions\n", "", []string{`PUT /services/web/backends/b1/admin {"state":"ready"}`}},
		{"ready web/b2", "web/b2: ready, down for now, 2 sessions\n", "", []string{`PUT /services/web/backends/b2/admin {"state":"ready"}`}},
		{"drain redis/unix:/run/r1.sock", "redis/unix:/run/r1.sock: drain, 5 sessions\n", "",
			[]string{`PUT /services/redis/backends/unix:%2Frun%2Fr1.sock/admin {"state":"drain"}`}},
	} {
		t.Run(c.line, func(t *testing.T) {
			f := newFake()
			newDesk(t, f).run(strings.Fields(c.line)...).want(t, 0, c.stdout, c.stderr)
			if got := f.requests(); !slices.Equal(got, c.asked) {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
		})
	}
}

func TestStatesAreRefused(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	for _, c := range []struct {
		line   string
		status int
		says   string
	}{
		{"drain", 2, "an argument is missing: SERVICE/BACKEND"},
		{"drain web", 2, `which backend? Write "web/BACKEND", or web --all`},
		{"drain web/", 2, `"web/" is not SERVICE/BACKEND`},
		{"drain /b1", 2, `"/b1" is not SERVICE/BACKEND`},
		{"drain web/b1 --all", 2, "--all goes with a SERVICE"},
		{"drain web/b1 web/b2", 2, "one argument too many"},
		{"drain web/b1 --then kill", 2, "--then kill needs --wait"},
		{"drain web/b1 --then pray --wait 1s", 2, `--then: "pray" is not kill`},
		{"drain web/b1 --wait 0s", 2, "--wait: must be above 0"},
		{"drain web/b1 --wait soon", 2, "invalid argument"},
		{"drain web/b9", 1, `no backend "b9" in web: it has b1, b2`},
		{"maint wbe/b1", 1, `no service "wbe": there are web, redis`},
		{"ready wbe --all", 1, `no service "wbe": there are web, redis`},
	} {
		d.run(strings.Fields(c.line)...).refused(t, c.status, c.says)
	}
	f.requests()
	f.fault = &api.Fault{Code: api.CodeConflict, Message: "it is the last"}
	d.run("drain", "web/b1").want(t, 1, "", "it is the last\n")
	if got := f.requests(); len(got) != 1 {
		t.Errorf("asked %q", got)
	}
}

func TestAllGoesOnAfterOneThatFails(t *testing.T) {
	f := newFake()
	fails := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/b1/") {
			refuse(w, http.StatusConflict, api.Fault{Code: api.CodeConflict, Message: "it is the last"})
			return
		}
		f.ServeHTTP(w, r)
	})
	newDesk(t, fails).run("drain", "web", "--all").want(t, 1, "web/b2: drain, 2 sessions\n", "web/b1: it is the last\n")
}

// inBubble runs a test with virtual time and gives it a desk before f.
func inBubble(t *testing.T, f http.Handler, test func(t *testing.T, d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newDesk(t, f)) })
}

func TestDrainWaitsForTheLastSessionAndNoLonger(t *testing.T) {
	f := newFake()
	f.services[0].Backends[1].Health, f.services[0].Backends[1].Usable = "up", true
	f.drains = 2
	inBubble(t, f, func(t *testing.T, d *desk) {
		began := time.Now()
		// The change's own warning looks at the service once before the wait does.
		d.run("drain", "web/b1", "--wait", "30s").want(t, 0, "web/b1: drain, 5 sessions\nweb/b1: drained\n", "web/b1: 1 session left, 30s to go\n")
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v, want 1s", took)
		}
	})
}

func TestDrainOnATerminalRedrawsOneLine(t *testing.T) {
	f := newFake()
	f.drains = 1
	inBubble(t, f, func(t *testing.T, d *desk) {
		d.width, d.height = 80, 24
		r := d.run("drain", "web/b2", "--wait", "30s")
		want := "\rweb/b2: 0"
		if r.status != 0 || strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "\n") {
			t.Errorf("status %d, %q", r.status, r.stderr)
		}
	})
	f = newFake()
	inBubble(t, f, func(t *testing.T, d *desk) {
		d.width, d.height = 80, 24
		r := d.run("drain", "web/b2", "--wait", "1500ms")
		want := "\rweb/b2: 2 sessions left, 2s to go\x1b[K\rweb/b2: 2 sessions left, 1s to go\x1b[K\rweb/b2: 2 sessions left, 0s to go\x1b[K\r\x1b[K2 sessions of web/b2 go on\n"
		if r.status != 1 || r.stderr != want {
			t.Errorf("status %d, %q\nwant %q", r.status, r.stderr, want)
		}
	})
}

func TestDrainWhoseTimeIsOverFails(t *testing.T) {
	f := newFake()
	inBubble(t, f, func(t *testing.T, d *desk) {
		began := time.Now()
		r := d.run("drain", "web/b2", "--wait", "2500ms")
		if r.status != 1 || !strings.HasSuffix(r.stderr, "\n2 sessions of web/b2 go on\n") {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
		if took := time.Since(began); took != 2500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTheStatusOfDrainThenKillCountsTheKilled(t *testing.T) {
	for sessions, status := range map[int64]int{0: 0, 1: 3, 2: 4, 123: 125, 5000: 125} {
		t.Run(fmt.Sprint(sessions), func(t *testing.T) {
			f := newFake()
			f.services[0].Backends[1].Sessions = sessions
			inBubble(t, f, func(t *testing.T, d *desk) {
				r := d.run("drain", "web/b2", "--wait", "1s", "--then", "kill")
				says := plural(sessions, "session") + " of web/b2 killed\n"
				if r.status != status || strings.HasSuffix(r.stderr, says) != (sessions > 0) {
					t.Errorf("status %d, want %d: %s", r.status, status, r.stderr)
				}
				kills := slices.Contains(f.requests(), "POST /services/web/backends/b2/kill")
				if kills != (sessions > 0) {
					t.Errorf("killed: %v", kills)
				}
			})
		})
	}
}

func TestDrainOfAllWaitsForAll(t *testing.T) {
	f := newFake()
	f.drains = 1
	inBubble(t, f, func(t *testing.T, d *desk) {
		r := d.run("drain", "web", "--all", "--wait", "1m")
		if r.status != 0 || !strings.HasSuffix(r.stdout, "all of web: drained\n") || !strings.Contains(r.stderr, "all of web: 3 sessions left, 1m to go\n") {
			t.Errorf("status %d\n%s\n%s", r.status, r.stdout, r.stderr)
		}
	})
}

func TestAWaitOutlivesAServerThatRestarts(t *testing.T) {
	f := newFake()
	f.drains = 1
	looks := 0
	flaky := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if looks++; looks == 3 {
				panic(http.ErrAbortHandler)
			}
		}
		f.ServeHTTP(w, r)
	})
	inBubble(t, flaky, func(t *testing.T, d *desk) {
		if r := d.run("drain", "web/b2", "--wait", "30s"); r.status != 0 {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
	})
}

func TestAWaitEndsWithARefusal(t *testing.T) {
	f := newFake()
	late := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			refuse(w, http.StatusForbidden, api.Fault{Code: api.CodeForbidden, Message: "not from here"})
			return
		}
		f.ServeHTTP(w, r)
	})
	inBubble(t, late, func(t *testing.T, d *desk) {
		d.run("drain", "web/b2", "--wait", "30s").want(t, 1, "web/b2: drain, 2 sessions\n", "not from here\n")
	})
}

func TestAnInterruptEndsAWaitAndSaysWhatStays(t *testing.T) {
	inBubble(t, newFake(), func(t *testing.T, d *desk) {
		ctx, cancel := context.WithTimeout(d.ctx, 2500*time.Millisecond)
		defer cancel()
		d.ctx = ctx
		d.env.Interrupt = func(ctx context.Context) (context.Context, context.CancelFunc) {
			inner, stop := context.WithCancel(context.WithoutCancel(ctx))
			context.AfterFunc(ctx, stop) // as a signal does
			return inner, stop
		}
		r := d.run("drain", "web/b2", "--wait", "1h")
		if r.status != 1 || !strings.HasSuffix(r.stderr, "\ninterrupted: web/b2 stays in drain, 2 sessions when last seen\n") {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
	})
}

func TestABackendThatIsLeavingIsNotItsSuccessor(t *testing.T) {
	f := newFake()
	old := f.services[0].Backends[1]
	old.Leaving, old.Sessions = true, 40
	f.services[0].Backends = append(f.services[0].Backends, old)
	f.services[0].Backends[1].Sessions = 0
	d := newDesk(t, f)
	d.run("drain", "web/b2", "--wait", "30s").want(t, 0, "web/b2: drain, 0 sessions\nweb/b2: drained\n", "")
	f.requests()
	d.run("ready", "web", "--all").want(t, 0, "web/b1: ready, 5 sessions\nweb/b2: ready, down for now, 0 sessions\n", "")
	if got := f.requests(); len(got) != 2 {
		t.Errorf("asked %q", got)
	}
}
