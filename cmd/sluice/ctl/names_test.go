package ctl

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// completions returns what a shell is offered after the words, and cobra's directive.
func completions(d *desk, words ...string) (list []string, directive string) {
	r := d.run(append([]string{"__complete"}, words...)...)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestAShellIsOfferedWhatThereIs(t *testing.T) {
	const noFile, noSpaceNoFile = ":4", ":6"
	for _, c := range []struct {
		words     string // the last is what is typed so far; - is nothing
		want      string
		directive string
	}{
		{"drain -", "web/ redis/", noSpaceNoFile},
		{"drain we", "web/ redis/", noSpaceNoFile}, // the shell keeps those that fit
		{"drain web/", "web/b1 web/b2", noFile},
		{"drain redis/unix", "redis/unix:/run/r1.sock redis/[::1]:6380", noFile},
		{"drain wbe/", "", noFile},
		{"drain web/b1 -", "", noFile},
		{"ready web/b", "web/b1 web/b2", noFile},
		{"weight web/", "web/b1 web/b2", noFile},
		{"explain -", "web/ redis/", noSpaceNoFile},
		{"kill -", "web/ redis/", noSpaceNoFile},
		{"status -", "web redis", noFile},
		{"pause -", "web redis", noFile},
		{"pick -", "web redis", noFile},
		{"add web -", "", noFile},
		{"sessions --sort -", "age bytes client backend", noFile},
		{"drain web/b1 --then -", "kill", noFile},
	} {
		words := strings.Fields(c.words)
		if n := len(words) - 1; words[n] == "-" {
			words[n] = ""
		}
		got, directive := completions(newDesk(t, newFake()), words...)
		if strings.Join(got, " ") != c.want || directive != c.directive {
			t.Errorf("%s: %q %s, want %q %s", c.words, got, directive, c.want, c.directive)
		}
	}
}

func TestCompletionUsesTheFlagsBeforeIt(t *testing.T) {
	f := newFake()
	f.token = "secret"
	d := newDesk(t, f)
	if got, _ := completions(d, "status", ""); len(got) != 0 {
		t.Errorf("without a token: %q", got)
	}
	if got, _ := completions(d, "status", "--token", "secret", ""); len(got) != 2 {
		t.Errorf("with it: %q", got)
	}
}

func TestCompletionIsSilentWhenItFails(t *testing.T) {
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	inBubble(t, slow, func(t *testing.T, d *desk) {
		began := time.Now()
		if got, directive := completions(d, "drain", ""); len(got) != 0 || directive != ":6" {
			t.Errorf("%q %s", got, directive)
		}
		if took := time.Since(began); took != completionTime {
			t.Errorf("it took %v", took)
		}
	})
	d := newDesk(t, newFake())
	if got, _ := completions(d, "drain", "--admin", "nowhere", ""); len(got) != 0 {
		t.Errorf("%q", got)
	}
	d.env.dial = func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	if got, _ := completions(d, "drain", ""); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestCompletionOffersNoNameThatIsHostile(t *testing.T) {
	f := newFake()
	f.services[0].Name = "web\x1b[2J"
	f.services = append(f.services, api.Service{Name: "a\tb"})
	if got, _ := completions(newDesk(t, f), "status", ""); strings.Join(got, " ") != "redis" {
		t.Errorf("%q", got)
	}
}

func TestABackendsNameMayHaveSlashes(t *testing.T) {
	for arg, want := range map[string][2]string{
		"web/b1":                  {"web", "b1"},
		"web":                     {"web", ""},
		"redis/unix:/run/r1.sock": {"redis", "unix:/run/r1.sock"},
		"web//":                   {"web", "/"},
		"/b":                      {"", "b"},
	} {
		if s, b := split(arg); s != want[0] || b != want[1] {
			t.Errorf("%s: %q %q", arg, s, b)
		}
	}
}

func TestEachCommandIsNewAndExplainsItself(t *testing.T) {
	first, second := Commands(Env{}), Commands(Env{})
	for i, cmd := range first {
		if cmd == second[i] {
			t.Errorf("%s is shared", cmd.Name())
		}
		if cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, "sluice "+cmd.Name()) {
			t.Errorf("%s has no description, or no example", cmd.Name())
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(line)) > 92 {
				t.Errorf("%s: a line is too long for help: %s", cmd.Name(), line)
			}
		}
	}
}

func TestUsageErrorsNameTheirCommand(t *testing.T) {
	d := newDesk(t, newFake())
	err := d.runTo(discard{}, discard{}, "drain")
	if u, ok := err.(UsageError); !ok || u.Command != "sluice drain" || u.Unwrap() == nil {
		t.Errorf("%#v", err)
	}
}

// discard is nobody who reads.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
