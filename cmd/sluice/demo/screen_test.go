package demo

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// terminal returns what a terminal would show of out, and fails on control sequences
// that it does not know or that leave it changed.
func terminal(t *testing.T, out string) string {
	t.Helper()
	token := regexp.MustCompile("\x1b\\[[?0-9]*[A-Za-z]|\r|\n|[^\x1b\r\n]+|\x1b")
	lines, y, wrap := []string{""}, 0, true
	for _, s := range token.FindAllString(out, -1) {
		switch {
		case s == "\n":
			if y++; y == len(lines) {
				lines = append(lines, "")
			}
		case s == "\r", strings.HasSuffix(s, "m") && s[0] == '\x1b':
		case s == wrapOff, s == wrapOn:
			wrap = s == wrapOn
		case s == clearRight: // all is new there
		case s == clearBelow:
			lines = append(lines[:y], "")
		case strings.HasSuffix(s, "A") && s[0] == '\x1b':
			n, _ := strconv.Atoi(s[2 : len(s)-1])
			if y -= n; y < 0 {
				t.Fatalf("moved above the first line")
			}
		case s[0] == '\x1b':
			t.Fatalf("unknown sequence %q", s)
		default:
			lines[y] += s
		}
	}
	if !wrap {
		t.Error("left with automatic wrapping off")
	}
	return strings.Join(lines, "\n")
}

func TestLinesPassAboveTheDisplay(t *testing.T) {
	var out bytes.Buffer
	s := &screen{live: true, w: &out}
	s.print("early")
	s.begin([]string{"intro"})
	s.draw([]string{"a 1", "b 1"})
	s.print("news")
	s.draw([]string{"a 2", "b 2", "c 2"})
	s.print("more", "news")
	s.draw([]string{"a 3"})
	if got, want := terminal(t, out.String()), "intro\nearly\nnews\nmore\nnews\na 3\n"; got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
	s.draw(nil)
	s.print("end")
	if got, want := terminal(t, out.String()), "intro\nearly\nnews\nmore\nnews\nend\n"; got != want {
		t.Errorf("in the end %q, want %q", got, want)
	}
}

func TestOnlyATerminalIsDrawnOn(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // looks like a terminal by its mode
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	env := func(kv ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == k {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	check := func(name string, live, color, wantLive, wantColor bool) {
		t.Helper()
		if runtime.GOOS == "windows" {
			wantLive, wantColor = false, false
		}
		if live != wantLive || color != wantColor {
			t.Errorf("%s: live %v, color %v", name, live, color)
		}
	}
	live, color := Terminal(new(bytes.Buffer), env("TERM", "xterm"))
	check("buffer", live, color, false, false)
	live, color = Terminal(file, env("TERM", "xterm"))
	check("file", live, color, false, false)
	live, color = Terminal(device, env("TERM", "xterm"))
	check("terminal", live, color, true, true)
	live, color = Terminal(device, env("TERM", "xterm", "NO_COLOR", "1"))
	check("NO_COLOR", live, color, true, false)
	live, color = Terminal(device, env("TERM", "dumb"))
	check("dumb terminal", live, color, false, false)
}

func TestRecordsBecomeLinesForPeople(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out}
	s.begin(nil)
	log := slog.New(logHandler{screen: s}).With("service", "demo")
	log.Info("backend down", "backend", "bob", "address", "127.0.0.1:1", "source", "probe", "reason", "no answer", "total", 3)
	log.Info("draining", "sessions", 2, "timeout", "5s")
	log.Warn("no usable backend", "reason", "all are down", "total", 3)
	log.Warn("no usable backend", "reason", "all are down")
	log.Debug("backend still down", "backend", "bob")
	stamp := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`)
	want := "T  backend down bob by probe: no answer\nT  draining     sessions=2 timeout=5s\n" +
		"T  no usable backend all are down (total=3)\nT  no usable backend all are down\n"
	if got := stamp.ReplaceAllString(out.String(), "T"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestALongEventIsBrokenBetweenWordsOnATerminalOnly(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		live               bool
		what, detail, want string
	}{
		{
			false, "backend down", "bob by dial: connection refused (1 failed in a row), ejected for 5s",
			"03:04:05  backend down bob by dial: connection refused (1 failed in a row), ejected for 5s\n",
		},
		{
			true, "backend down", "bob by dial: connection refused (1 failed in a row), ejected for 5s",
			"03:04:05  backend down bob by dial: connection refused (1 failed in a row),\n" +
				"                       ejected for 5s\n",
		},
		{
			true, "no usable backend", "each backend tried failed to connect, the last one, carol: connection refused (total=3)",
			"03:04:05  no usable backend each backend tried failed to connect, the last one,\n" +
				"                       carol: connection refused (total=3)\n",
		},
	} {
		var out bytes.Buffer
		s := &screen{live: c.live, open: true, w: &out}
		s.event(at, c.what, c.detail)
		if out.String() != c.want {
			t.Errorf("live %v: got\n%swant\n%s", c.live, out.String(), c.want)
		}
	}
}
