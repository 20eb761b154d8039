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
	"time"

	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// command runs a command line and returns what it left behind.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = exitStatus(run(t.Context(), args, &out, &errs), &errs)
	return status, out.String(), errs.String()
}

func TestVersionAndHelpArePrinted(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if status, out, _ := command(t, args...); status != exitDone || !strings.HasPrefix(out, "l4bench ") {
			t.Errorf("%v: status %d, %q", args, status, out)
		}
	}
	status, out, _ := command(t, "compare", "--help")
	if status != exitDone {
		t.Errorf("status %d", status)
	}
	for _, flag := range []string{"--balancer", "--duration", "--rounds", "--only", "--json", "--html", "--print-configs", "--sessions", "--rate"} {
		if !strings.Contains(out, flag) {
			t.Errorf("help does not mention %s", flag)
		}
	}
	if status, out, _ := command(t, "completion", "bash"); status != exitDone || !strings.Contains(out, "l4bench") {
		t.Errorf("completion: status %d", status)
	}
}

func TestACommandLineThatMakesNoSenseIsRefused(t *testing.T) {
	tests := []struct {
		args   string
		reason string
	}{
		{"", "which command?"},
		{"compere", "unknown command"},
		{"failover sluice", `takes no argument "sluice"`},
		{"failover --fault explode", `"explode"; there are kill, exit`},
		{"failover --rate 0", `"0" is no rate`},
		{"failover --rate 500/min", `"500/min" is no rate`},
		{"failover --duration 1s", "4s to 10m0s a run are possible"},
		{"failover --duration 0s", "must be more than 0"},
		{"failover --backends 1", "2 to 16 are possible"},
		{"failover --rounds 100", "1 to 20 are possible"},
		{"failover --sessions -1", "must not be negative"},
		{"failover --patience 1ms", "100ms to 1m are possible"},
		{"failover --rate 9999", "1 to 5000 new clients a second"},
		{"failover --on-down drop", "it must be keep or close"},
		{"failover --fault kill,kill", "named twice"},
		{"failover --balancer envoy", `no kind "envoy"`},
		{"failover --json x --html x", "name the same file"},
		{"failover --target 127.0.0.1:80 --fault kill", "--target observes"},
		{"failover --target 127.0.0.1:80 --compare x", "--compare is for runs"},
		{"failover --target 127.0.0.1 --html=", "it must be HOST:PORT"},
		{"load", "--target is missing"},
		{"load --target 127.0.0.1:80", "say --rate"},
		{"load --target 127.0.0.1:80 --connections -1", "1 to 10000 are possible"},
		{"load --target 127.0.0.1:80 --rate 5 --duration 0s", "more than 0"},
		{"load --target 127.0.0.1:80 --rate 1000000/s --duration 1h", "lower --rate or a shorter"},
		{"load --target 127.0.0.1:80 --rate 5 --connections 2 --protocol http", "only redis and echo allow"},
		{"load --target 127.0.0.1:80 --rate 5 --protocol gopher", "known are http, redis, echo, connect"},
		{"load --target 127.0.0.1:80 --rate 5 --protocol redis --path /x", "--path is for --protocol http"},
		{"load --target 127.0.0.1:80 --rate 5 --protocol http --path x", "it must begin with /"},
		{"load --target 127.0.0.1:99999 --rate 5", "a number from 1 to 65535"},
		{"load --target 192.0.2.1:80 --rate 5", "--i-own-this-target"},
		{"version now", `takes no argument "now"`},
		{"compare haproxy", `takes no argument "haproxy"`},
		{"compare --target 10.0.0.1:80", "unknown flag"},
		{"compare --duration x", "invalid argument"},
		{"compare --duration 0s", "must be more than 0"},
		{"compare --duration -5s", "must be more than 0"},
		{"compare --sessions 0", "must be more than 0"},
		{"compare --only everything", `no workload "everything"`},
		{"compare --balancer envoy", `no kind "envoy"`},
		{"compare --balancer sluice=", "the path is empty"},
		{"compare --json x --html x", "name the same file"},
		{"compare --print-configs --json x", "measures nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			status, out, errs := command(t, strings.Fields(tt.args)...)
			if status != exitUsage || !strings.Contains(errs, tt.reason) || !strings.Contains(errs, "--help") || out != "" {
				t.Errorf("status %d, %q, %q", status, errs, out)
			}
		})
	}
}

func TestFailuresAreNoUsageErrors(t *testing.T) {
	var errs bytes.Buffer
	if status := exitStatus(errors.New("disk full"), &errs); status != exitFailed || errs.String() != "l4bench: disk full\n" {
		t.Errorf("status %d, %q", status, errs.String())
	}
	wrapped := fmt.Errorf("compare: %w", usageError{errors.New("odd"), "l4bench compare"})
	if status := exitStatus(wrapped, &errs); status != exitUsage || !strings.Contains(errs.String(), "'l4bench compare --help'") {
		t.Errorf("status %d, %q", status, errs.String())
	}
}

func TestWithoutAnyBalancerThereIsNothingToCompare(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var errs bytes.Buffer
	found, _, err := findBalancers(context.Background(), []string{"sluice"}, &errs)
	if err == nil || len(found) > 0 || !strings.Contains(err.Error(), "none of sluice was found") {
		t.Errorf("%v, %v", found, err)
	}
	if !strings.Contains(errs.String(), "left out") {
		t.Errorf("it was not said: %q", errs.String())
	}
}

func TestABalancerThatIsMissingIsLeftOutUnlessItsPathWasGiven(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "haproxy")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho HAProxy\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	var errs bytes.Buffer
	found, missing, err := findBalancers(t.Context(), []string{"sluice", "haproxy"}, &errs)
	if err != nil || len(found) != 1 || found[0].Path != script || len(missing) != 1 || !strings.Contains(errs.String(), "left out") {
		t.Errorf("%+v, %q, %v, %q", found, missing, err, errs.String())
	}
	if _, _, err := findBalancers(t.Context(), []string{"haproxy", "sluice=" + dir + "/none"}, &errs); err == nil {
		t.Error("a path that leads nowhere was left out")
	}
}

func TestTimesAreRoundedToWhatAPersonPlansWith(t *testing.T) {
	for in, want := range map[time.Duration]time.Duration{
		5500 * time.Millisecond: 6 * time.Second, 90 * time.Second: 90 * time.Second, 1242 * time.Second: 21 * time.Minute,
	} {
		if got := roughly(in); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
}
