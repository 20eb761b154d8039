//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
	"github.com/sluicelb/sluice/health/history"
)

// transitions reads what a sluice has kept on disk.
func transitions(t *testing.T, dir string) (all []history.Entry) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "transitions.jsonl"))
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e history.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		if e.Service != history.Process { // that it started
			all = append(all, e)
		}
	}
	return all
}

// Why a backend was out is on disk with what was seen, after kill -9 too.
func TestTransitionsAreKeptWithTheirEvidence(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(parts.TempDir(t), "state")
	r := parts.StartRedis(t)
	yaml := "state_dir: " + dir + "\n" + service("check: {type: redis, interval: 100ms, timeout: 1s, rise: 1, fall: 2}", r.Addr)
	s := run(t, yaml)
	s.AwaitUp(t, "b1")
	redisDo(t, parts.DialRESP(t, r.Addr), "OK", "CONFIG", "SET", "requirepass", "secret")
	parts.Eventually(t, parts.Patience, "the fall to be on disk", func() bool { return len(transitions(t, dir)) == 2 })
	down := transitions(t, dir)[1]
	if down.Service != "s" || down.Backend != "b1" || down.Source != "probe" || down.From != "up" || down.To != "down" ||
		down.Step != "redis ping" || down.Saw != "-NOAUTH Authentication required." || down.Streak != 2 || down.Took <= 0 || down.Time.IsZero() {
		t.Errorf("%+v", down)
	}
	r.Kill()
	s.Crash()
	s = run(t, yaml)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down"})
	parts.Eventually(t, parts.Patience, "the next one to be on disk", func() bool { return len(transitions(t, dir)) == 3 })
	refused := transitions(t, dir)[2]
	if refused.Step != "connect" || refused.Errno != "connection refused" || refused.From != "unknown" {
		t.Errorf("%+v", refused)
	}
}

// A check that will hurt says so before it does.
func TestAHarmfulCheckIsWarnedOf(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]int{
		"check: {type: tcp, interval: 60s}":                                   1,
		"check: {type: mysql, interval: 60s}":                                 1,
		"check: {type: mysql, user: u, interval: 60s}":                        0,
		"check: {type: tcp, port: 3307, interval: 60s}":                       0,
		"check: {type: redis, role: master, interval: 60s}":                   1,
		"check: {type: redis, role: master, interval: 60s}\non_down: close":   0,
		"check: {type: send-expect, send: 'x', expect: 'y', interval: 60s}\n": 0,
	} {
		s, _ := start(t, keys, "127.0.0.9:3306")
		if got := len(s.Log.All(parts.Match{Msg: "check"})); got != want {
			t.Errorf("%s: %d warnings, want %d", keys, got, want)
		}
	}
}
