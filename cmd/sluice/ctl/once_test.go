package ctl

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestAChangeIsSentOnceWhateverBecomesOfIt(t *testing.T) {
	for _, line := range []string{
		"drain web/b1", "weight web/b1 3", "set web/b1 --weight 3", "add web 1.2.3.4:5", "remove web/b1", "kill web/b1", "kill web --yes", "pause web", "resume web", "reload",
	} {
		t.Run(line, func(t *testing.T) {
			changes := 0
			lost := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					changes++
				}
				panic(http.ErrAbortHandler) // it may have been made, and nobody says so
			})
			newDesk(t, lost).run(strings.Fields(line)...).refused(t, 1, "closed the connection without an answer")
			if changes != 1 {
				t.Errorf("sent %d times", changes)
			}
		})
	}
}

func TestACommandThatIsRefusedHasAskedForNothing(t *testing.T) {
	asked := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("somebody was asked") })
	d := newDesk(t, asked)
	for _, line := range []string{
		"drain", "drain web", "drain web/b1 --then kill", "drain web/b1 --wait 0s", "drain web/b1 --all", "weight web/b1 999", "add web/b1 1.2.3.4:5",
		"add web 1.2.3.4:5 --weight -1", "remove web", "remove web/b1 --within -1s", "kill", "kill web", "kill --client x", "kill --id 1", "pause web --for 0s",
		"pause web/b1", "resume web/b1", "sessions --sort x", "sessions --limit -1", "events --since x", "failures --limit -1", "explain web",
		"explain web/b1 --at x", "pick web", "pick web --source x", "plan", "reload x", "status --watch=1ms", "status a b",
	} {
		d.run(strings.Fields(line)...).refused(t, 2)
	}
}

func TestWithoutAUserNobodyIsNamed(t *testing.T) {
	f := newFake()
	d := newDesk(t, f)
	d.env.User = nil
	d.run("reload").want(t, 0, "nothing would change\n", "")
	if from, ok := f.header["From"]; ok {
		t.Errorf("From: %q", from)
	}
}

func TestTheFileOfTheRunningSluiceIsEnoughToFindIt(t *testing.T) {
	f := newFake()
	f.token = "secret"
	d := newDesk(t, f)
	d.env.AdminOf = func(path string) (Admin, error) {
		if path != "sluice.yaml" {
			return Admin{}, errors.New("open " + path + ": no such file")
		}
		return Admin{Listen: "[::]:9090", Token: "env:ADMIN"}, nil
	}
	d.vars["ADMIN"] = "secret"
	d.run("weight", "web/b1", "3", "-c", "sluice.yaml").want(t, 0, "web/b1: weight 3\n", "")
	d.vars["ADMIN"] = "old"
	d.run("status", "--config", "sluice.yaml").want(t, 1, "",
		"[::]:9090 (admin.listen of sluice.yaml) does not take this token (admin.token of sluice.yaml): it must be admin.token of the running sluice's file\n")
	d.run("status", "-c", "other.yaml").want(t, 1, "", "where is the admin server? use --admin, for the file cannot be used:\nopen other.yaml: no such file\n")
}

func TestDrainOfAllThenKillCountsOverAllBackends(t *testing.T) {
	f := newFake()
	inBubble(t, f, func(t *testing.T, d *desk) {
		r := d.run("drain", "web", "--all", "--wait", "1s", "--then", "kill")
		if r.status != 9 || !strings.HasSuffix(r.stderr, "7 sessions of all of web killed\n") {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
	})
	want := []string{"POST /services/web/backends/b1/kill", "POST /services/web/backends/b2/kill"}
	if got := f.requests(); !slices.Equal(got[2:], want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestSessionsThatEndInTheLastMomentAreNotKilled(t *testing.T) {
	f := newFake()
	racing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/kill") {
			f.mu.Lock()
			f.services[0].Backends[1].Sessions = 0
			f.mu.Unlock()
		}
		f.ServeHTTP(w, r)
	})
	inBubble(t, racing, func(t *testing.T, d *desk) {
		r := d.run("drain", "web/b2", "--wait", "1s", "--then", "kill")
		if r.status != 0 || !strings.HasSuffix(r.stdout, "web/b2: drained\n") {
			t.Errorf("status %d, %s%s", r.status, r.stdout, r.stderr)
		}
	})
}

func TestAKillThatFailsIsNoStatusOfItsOwn(t *testing.T) {
	f := newFake()
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/kill") {
			refuse(w, http.StatusForbidden, api.Fault{Code: api.CodeForbidden, Message: "not from here"})
			return
		}
		f.ServeHTTP(w, r)
	})
	inBubble(t, failing, func(t *testing.T, d *desk) {
		r := d.run("drain", "web/b2", "--wait", "1s", "--then", "kill")
		if r.status != 1 || !strings.HasSuffix(r.stderr, "not from here\n") {
			t.Errorf("status %d, %s", r.status, r.stderr)
		}
		d.run("maint", "web/b2", "--kill").want(t, 1, "web/b2: maint, 2 sessions\n", "not from here\n")
	})
}

// What needs attention has a color on a terminal, in every command.
func TestColorsMarkWhatNeedsAttention(t *testing.T) {
	const red, yellow, green, bold, end = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
	f := shown()
	d := newDesk(t, f)
	d.width, d.height = 100, 30
	for line, marks := range map[string][]string{
		"status":                       {bold + "web" + end, red + "down" + end, yellow + "unknown" + end},
		"explain web/b1":               {": " + red + "down" + end + ","},
		"pick web --source 10.1.2.3":   {bold + "web/b1" + end},
		"plan -c " + newFile(t, ""):    {green + "+" + end + " add", red + "-" + end + " remove", yellow + "~" + end + " change"},
		"failures":                     {yellow + "got b1" + end},
		"events":                       {red + "outage    " + end},
		"drain web/b1":                 {"drain"},
		"sessions --client 10.0.0.0/8": {"\x1b[2mID" + end},
	} {
		r := d.run(strings.Fields(line)...)
		for _, mark := range marks {
			if r.status != 0 || !strings.Contains(r.stdout, mark) {
				t.Errorf("%s: no %q: %q%s", line, mark, r.stdout, r.stderr)
			}
		}
		d.vars["NO_COLOR"] = "yes"
		if r := d.run(strings.Fields(line)...); strings.Contains(r.stdout, "\x1b") {
			t.Errorf("%s with NO_COLOR: %q", line, r.stdout)
		}
		delete(d.vars, "NO_COLOR")
	}
	f.pick.Choice, f.failures[0].Backend = "", ""
	for line, mark := range map[string]string{"pick web --source ::1": red + "no backend" + end, "failures": red + "failed" + end} {
		if r := d.run(strings.Fields(line)...); !strings.Contains(r.stdout, mark) {
			t.Errorf("%s: no %q: %q", line, mark, r.stdout)
		}
	}
}

func TestAServersClockIsTheOneThatCounts(t *testing.T) {
	f := newFake()
	f.status.Started, f.status.Uptime = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), api.Duration(2*time.Hour)
	for i := range f.services[0].Backends {
		f.services[0].Backends[i].Since = time.Date(1999, 1, 1, 1, 30, 0, 0, time.UTC)
	}
	if r := newDesk(t, f).run("status", "web"); strings.Count(r.stdout, " 30m") != 2 {
		t.Errorf("%s", r.stdout)
	}
}
