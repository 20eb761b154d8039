//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// file writes a configuration and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUsageErrorsExitWith2(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"unknown command":    {"balance"},
		"unknown flag":       {"run", "--no-such-flag"},
		"run of nothing":     {"run"},
		"check of nothing":   {"check"},
		"flag without value": {"run", "-c"},
		"file and flags":     {"run", "-c", "x.yaml", "--listen", "127.0.0.1:0", "127.0.0.1:1"},
		"extra argument":     {"version", "now"},
	} {
		t.Run(name, func(t *testing.T) {
			res := parts.Command(t, binary(t), args...)
			if res.Code != 2 || strings.TrimSpace(res.Stderr) == "" {
				t.Errorf("exit %d with %q, want 2 and a word about it", res.Code, res.Stderr)
			}
		})
	}
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--help"}, {"run", "--help"}, {"check", "-h"}} {
		res := parts.Command(t, binary(t), args...)
		if res.Code != 0 || !strings.Contains(res.Stdout, "sluice") {
			t.Errorf("%v: exit %d, %q", args, res.Code, res.Stdout)
		}
	}
}

func TestCheckPrintsTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	path := file(t, service("", "10.0.0.1:6379", "{address: \"[fe80::1%lo]:9000\", name: b2}")) // C26: a zone
	res := parts.Command(t, binary(t), "check", "-c", path)
	if res.Code != 0 {
		t.Fatalf("exit %d: %s", res.Code, res.Stderr)
	}
	for _, want := range []string{"shutdown_timeout", "balance", "half_close", "keepalive", "interval", "eject", "accept_timeout"} {
		if !strings.Contains(res.Stdout, want) {
			t.Errorf("the default of %s is not printed:\n%s", want, res.Stdout)
		}
	}
	again := parts.Command(t, binary(t), "check", "-c", file(t, res.Stdout))
	if again.Code != 0 || again.Stdout != res.Stdout {
		t.Errorf("what it printed is not the same configuration again (exit %d): %s", again.Code, again.Stderr)
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	t.Parallel()
	good := service("", "10.0.0.1:6379")
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {strings.Replace(good, "backends", "balanse: first\n    backends", 1), ":4:5: .*balanse.*balance"},
		"bad duration":      {"shutdown_timeout: 3 parsecs\n" + good, ":1:19: "},
		"unknown balance":   {service("balance: fastest", "10.0.0.1:1"), ":4:14: .*round-robin"},
		"bad address":       {service("", "10.0.0.1"), ":5:"},
		"weight too large":  {service("", "{address: \"10.0.0.1:1\", weight: 257}"), ":5:"},
		"duplicate backend": {service("", "{address: \"10.0.0.1:1\", name: x}", "{address: \"10.0.0.2:1\", name: x}"), ":6:"},
		"no backends":       {"services:\n  - {name: s, listen: \"127.0.0.1:0\"}\n", ":2:"},
		"bad network":       {service("allow: [10.0.0.0/33]", "10.0.0.1:1"), ":4:"},
		"broken YAML":       {"services: [\n", ":[12]:"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, c.text)
			for _, command := range []string{"check", "run"} {
				res := parts.Command(t, binary(t), command, "-c", path)
				if res.Code != 1 {
					t.Errorf("%s: exit %d, want 1", command, res.Code)
				}
				if !regexp.MustCompile(regexp.QuoteMeta(path) + c.want).MatchString(res.Stderr + res.Stdout) {
					t.Errorf("%s says %q, want FILE%s", command, res.Stderr+res.Stdout, c.want)
				}
			}
		})
	}
}

func TestEveryFaultIsReported(t *testing.T) {
	t.Parallel()
	path := file(t, "shutdown_timeout: soon\n"+service("balance: fastest\nnonsense: 1", "10.0.0.1:1"))
	res := parts.Command(t, binary(t), "check", "-c", path)
	out := res.Stderr + res.Stdout
	for _, want := range []string{path + ":1:", path + ":5:", path + ":6:"} {
		if !strings.Contains(out, want) {
			t.Errorf("no fault at %s:\n%s", want, out)
		}
	}
}

func TestMissingFileIsNamed(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "check"} {
		res := parts.Command(t, binary(t), command, "-c", "/no/such/sluice.yaml")
		if res.Code != 1 || !strings.Contains(res.Stderr+res.Stdout, "/no/such/sluice.yaml") {
			t.Errorf("%s: exit %d, %q", command, res.Code, res.Stderr+res.Stdout)
		}
	}
}

func TestBindFailureNamesTheAddress(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()
	begin := time.Now()
	res := parts.Command(t, binary(t), "run", "-c", file(t, service("listen: "+taken, "10.0.0.1:6379")))
	if res.Code != 1 || !strings.Contains(res.Stderr, taken) {
		t.Errorf("exit %d with %q, want 1 and the address %s", res.Code, res.Stderr, taken)
	}
	elapsed(t, "the failure", begin, 0, 5*time.Second)
}

func TestServiceFromFlags(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	s := parts.RunSluice(t, parts.Config{Binary: binary(t), Args: []string{"run", "--listen", "127.0.0.1:0",
		"--balance", "least-conn", "--check", "tcp", "--log-sessions", "all", addrs[0], addrs[1]}})
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "listening"})
	if got := tally(t, 20, r.Get("address")); got["b1"]+got["b2"] != 20 || got["b1"] == 0 || got["b2"] == 0 {
		t.Errorf("20 clients got %v", got)
	}
	s.Log.Await(t, parts.Patience, 20, parts.Match{Msg: "session"})
}

func TestHeaderFromFlags(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, tellSource)
	s := parts.RunSluice(t, parts.Config{Binary: binary(t), Args: []string{"run", "--listen", "127.0.0.1:0",
		"--check", "none", "--send-proxy", "v2", b.Addr}})
	r := s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "listening"})
	c := parts.Dial(t, r.Get("address"))
	parts.Expect(t, c, c.LocalAddr().String()+"\n")
}

func TestTextLog(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s := run(t, "log: {format: text}\n"+service(noCheck, b.Addr))
	parts.Eventually(t, parts.Patience, "a line of text about the listener", func() bool {
		return strings.Contains(s.Output.String(), "msg=listening")
	})
}
