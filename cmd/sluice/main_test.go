package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/ctl"
	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// command runs one command line and returns its status and what it printed.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = exitStatus(run(context.Background(), args, &out, &errs), &errs)
	return status, out.String(), errs.String()
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const oneService = "services:\n  - {name: web, listen: '127.0.0.1:0', backends: ['127.0.0.1:1']}\n"

func TestExitStatusAndWhereTheReasonIsPrinted(t *testing.T) {
	good, bad := writeFile(t, oneService), writeFile(t, "services:\n  - {nam: web}\n")
	for _, c := range []struct {
		name           string
		args           []string
		status         int
		stdout, stderr string // parts of what is printed
	}{
		{"no command", nil, exitUsage, "", "which command?"},
		{"unknown command", []string{"fly"}, exitUsage, "", `unknown command "fly"`},
		{"unknown flag", []string{"run", "--fly"}, exitUsage, "", "unknown flag: --fly\nrun 'sluice run --help'"},
		{"run with nothing", []string{"run"}, exitUsage, "", "use -c FILE, or --listen"},
		{"run with file and flags", []string{"run", "-c", good, "--listen", ":1"}, exitUsage, "", "goes with no other flag"},
		{"run with file and backends", []string{"run", "-c", good, "1.2.3.4:5"}, exitUsage, "", "goes with no other flag"},
		{"check without file", []string{"check"}, exitUsage, "", "no file given: use -c FILE"},
		{"check with arguments", []string{"check", good}, exitUsage, "", "use -c FILE"},
		{"version with arguments", []string{"version", "x"}, exitUsage, "", "takes no argument \"x\"\nrun 'sluice version --help'"},
		{"control found by a file without admin", []string{"status", "-c", good}, exitFailed, "", good + " has no admin server: add \"admin: {listen: 127.0.0.1:9090}\""},
		{"control found by no file", []string{"drain", "web/b1", "-c", good + ".not"}, exitFailed, "", "no such file"},
		{"policies for a shell", []string{"__complete", "run", "--balance", ""}, exitDone, "round-robin\nleast-conn\n", "ShellCompDirectiveNoFileComp"},
		{"control with an unknown flag", []string{"status", "--fly"}, exitUsage, "", "unknown flag: --fly\nrun 'sluice status --help'"},
		{"completion", []string{"completion", "bash"}, exitDone, "sluice", ""},
		{"nothing to control", []string{"drain", "s/b", "--admin", "unix:/nowhere/s"}, exitFailed, "", "no sluice listens on unix:/nowhere/s"},
		{"control without an argument", []string{"drain"}, exitUsage, "", "SERVICE/BACKEND\nrun 'sluice drain --help'"},
		{"control found by a bad file", []string{"status", "-c", bad}, exitFailed, "", bad + ":2:"},
		{"the version as a flag", []string{"--version"}, exitDone, "sluice ", ""},
		{"check of a good file", []string{"check", "-c", good}, exitDone, "name: web", ""},
		{"check of a bad file", []string{"check", "-c", bad}, exitFailed, "", bad + ":2:"},
		{"check of no file", []string{"check", "-c", good + ".not"}, exitFailed, "", "no such file"},
		{"an unknown engine", []string{"run", "-c", good, "--engine", "steam"}, exitFailed, "", `unknown engine "steam"`},
		{"run of a bad file", []string{"run", "-c", bad}, exitFailed, "", bad + ":2:"},
		{"flags with a fault", []string{"run", "--listen", ":0", "--balance", "best", "1.2.3.4:5"}, exitFailed, "", "--balance"},
		{"flags without backends", []string{"run", "--listen", ":0"}, exitFailed, "", "BACKEND: required"},
		{"an admin page for everybody", []string{"run", "--listen", ":0", "--admin", ":0", "1.2.3.4:5"}, exitFailed, "", "--admin: \":0\" can be reached from other machines"},
		{"version", []string{"version"}, exitDone, "sluice ", ""},
		{"help", []string{"--help"}, exitDone, "Available Commands", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, stdout, stderr := command(t, c.args...)
			if status != c.status || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("sluice %q: status %d, want %d\nstdout: %s\nstderr: %s\nwant in them: %q, %q",
					c.args, status, c.status, stdout, stderr, c.stdout, c.stderr)
			}
			if c.stdout == "" && stdout != "" || c.stderr == "" && stderr != "" {
				t.Errorf("sluice %q printed where it should not:\nstdout: %s\nstderr: %s", c.args, stdout, stderr)
			}
		})
	}
}

func TestEveryFlagOfRunWithFewValuesIsCompleted(t *testing.T) {
	for flag, value := range map[string]string{"balance": "maglev", "check": "postgres", "send-proxy": "v2", "log-sessions": "errors"} {
		if status, stdout, _ := command(t, "__complete", "run", "--"+flag, ""); status != exitDone || !strings.Contains(stdout, value+"\n") {
			t.Errorf("--%s: status %d, %q", flag, status, stdout)
		}
	}
}

func TestAnErrorMayHaveAnExitStatusOfItsOwn(t *testing.T) {
	var errs bytes.Buffer
	err := fmt.Errorf("web: %w", ctl.ExitError{Status: 7, Err: errors.New("5 sessions killed")})
	if status := exitStatus(err, &errs); status != 7 || errs.String() != "web: 5 sessions killed\n" {
		t.Errorf("status %d, %q", status, errs.String())
	}
}

func TestWhatCheckPrintsIsAFileOfTheSameMeaning(t *testing.T) {
	_, first, _ := command(t, "check", "-c", writeFile(t, oneService))
	status, second, stderr := command(t, "check", "-c", writeFile(t, first))
	if status != exitDone || first != second || first == "" {
		t.Errorf("status %d, %s\nfirst:\n%s\nsecond:\n%s", status, stderr, first, second)
	}
}

func TestAPortThatIsTakenIsAnErrorThatNamesIt(t *testing.T) {
	path := writeFile(t, strings.Replace(oneService, "127.0.0.1:0", "192.0.2.1:1", 1))
	status, _, stderr := command(t, "run", "-c", path)
	if status != exitFailed || !strings.Contains(stderr, "192.0.2.1:1") || !strings.Contains(stderr, `"web"`) {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestTheEndOfTheContextStopsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if err := run(ctx, []string{"run", "--listen", "127.0.0.1:0", "--check", "none", "127.0.0.1:1"}, &out, &errs); err != nil {
		t.Fatal(err)
	}
	for _, msg := range []string{"draining", "stopped"} {
		if !strings.Contains(errs.String(), `"msg":"`+msg+`"`) {
			t.Errorf("no %q in the log:\n%s", msg, errs.String())
		}
	}
}
