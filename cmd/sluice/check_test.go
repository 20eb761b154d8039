package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const doubtful = `admin: {listen: 127.0.0.1:0, token: "env:SLUICE_TEST_UNSET"}
services:
  - {name: fine, listen: ":1", backends: ["b:1"]}
  - {name: cache, listen: ":2", backends: ["b:1"], check: {type: redis, role: master, password: "file:MISSING"}}
  - {name: slow, listen: ":3", backends: ["b:1"], close_over: 1s, check: {type: redis, password: "env:SLUICE_TEST_UNSET"}}
`

func TestCheckWarnsOfWhatIsAllowedButSeldomMeant(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	path := writeFile(t, strings.ReplaceAll(doubtful, "MISSING", missing))
	status, stdout, stderr := command(t, "check", "-c", path)
	if status != exitDone || !strings.Contains(stdout, "name: slow") {
		t.Errorf("status %d\n%s", status, stdout)
	}
	want := []string{
		"admin.token: environment variable SLUICE_TEST_UNSET is not set, or empty",
		`service "cache": sessions on a node that is not the master any more stay on it; write on_down: close`,
		`service "cache": check.password: stat ` + missing + ": no such file or directory",
		`service "slow": close_over does nothing without on_down: close`,
		`service "slow": check.password: environment variable SLUICE_TEST_UNSET is not set, or empty`,
	}
	if got, want := stderr, path+": warning: "+strings.Join(want, "\n"+path+": warning: ")+"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, stdout, stderr := command(t, "check", "-c", writeFile(t, oneService)); stderr != "" || stdout == "" {
		t.Errorf("a file without doubts: %q", stderr)
	}
}

func TestSecretsThatCanBeReadAreNoWarning(t *testing.T) {
	t.Setenv("SLUICE_TEST_SET", "x")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, `admin: {listen: 127.0.0.1:0, token: "env:SLUICE_TEST_SET"}
services: [{name: a, listen: ":1", backends: ["b:1"], check: {type: redis, password: "file:`+secret+`"}}]`)
	if status, _, stderr := command(t, "check", "-c", path); status != exitDone || stderr != "" {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func TestTwoFilesAreComparedWithoutARunningSluice(t *testing.T) {
	old := writeFile(t, oneService)
	next := writeFile(t, strings.Replace(oneService, "name: web", "name: web, balance: maglev", 1))
	status, stdout, stderr := command(t, "plan", "-c", next, "--from", old)
	if status != exitDone || !strings.Contains(stdout, "~ change web balance: round-robin -> maglev\n") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	if status, stdout, _ := command(t, "plan", "-c", old, "--from", old); status != exitDone || stdout != "nothing would change\n" {
		t.Errorf("status %d, %q", status, stdout)
	}
	bad := writeFile(t, "services:\n  - {nam: web}\n")
	for _, args := range [][]string{{"-c", bad, "--from", old}, {"-c", old, "--from", bad}} {
		if status, _, stderr := command(t, append([]string{"plan"}, args...)...); status != exitFailed || !strings.Contains(stderr, bad+":2:") {
			t.Errorf("%q: status %d, %s", args, status, stderr)
		}
	}
}
