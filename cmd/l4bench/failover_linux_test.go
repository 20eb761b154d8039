package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/failover"
)

// adapterFrom writes what --print-adapter prints to a file.
func adapterFrom(t *testing.T, b bench) string {
	t.Helper()
	text, err := b.command(t, "failover", "--print-adapter").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, "adapter.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFailoverOfRealBalancersAndOfOneByAdapter(t *testing.T) {
	b := build(t)
	jsonFile, htmlFile := filepath.Join(b.dir, "r.json"), filepath.Join(b.dir, "r.html")
	args := []string{"failover", "--fault", "kill", "--rounds", "1", "--duration", "5s", "--rate", "200/s", "--json", jsonFile, "--html", htmlFile,
		"--balancer", "sluice,haproxy,nginx", "--adapter", adapterFrom(t, b)}
	var out, errs bytes.Buffer
	cmd := b.command(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	b.gone(t)
	b.clean(t)
	for _, want := range []string{"sluice", "haproxy", "nginx", "haproxy-by-adapter", "killed (kill)", "worst delay", "to recover", "no active checks"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	file, err := os.Open(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result, err := failover.ReadResult(file)
	if err != nil {
		t.Fatal(err)
	}
	checkRuns(t, result)
	html, err := os.ReadFile(htmlFile)
	if err != nil || bytes.Count(html, []byte("<svg")) < 4 || !bytes.Contains(html, []byte("on-error mark-down")) {
		t.Errorf("%v, %d charts", err, bytes.Count(html, []byte("<svg")))
	}

	// Once more, with one of them, compared with the first time.
	var again bytes.Buffer
	cmd = b.command(t, "failover", "--fault", "kill", "--rounds", "1", "--duration", "5s", "--rate", "200/s", "--balancer", "sluice", "--html", "", "--compare", jsonFile)
	cmd.Stdout, cmd.Stderr = &again, &errs
	if err := cmd.Run(); err != nil || !strings.Contains(again.String(), "haproxy") {
		t.Errorf("%v\n%s\n%s", err, again.String(), errs.String())
	}
}

// checkRuns looks for every run, and for what is sure about each: a killed backend comes
// back, and its sessions end with it.
func checkRuns(t *testing.T, r *failover.Result) {
	t.Helper()
	if len(r.Runs) != 4 || r.Partial != "" || len(r.Notes) > 0 {
		t.Fatalf("%d runs, partial %q, notes %q", len(r.Runs), r.Partial, r.Notes)
	}
	for _, run := range r.Runs {
		v := run.Values
		if run.Error != "" || v["attempts"] != 1000 || len(run.Buckets) != 100 || len(run.Outages) != 1 || !run.Outages[0].Ends {
			t.Errorf("%s: %q, %v clients, %d buckets, outages %v", run.Balancer, run.Error, v["attempts"], len(run.Buckets), run.Outages)
		}
		cut := slices.ContainsFunc(run.Talks, func(e failover.TalkEnd) bool { return e.Failure != "" && e.Backend == 0 })
		if !cut || v["lost_wrong"] > 0 || v["failed_wrong"] > 0 {
			t.Errorf("%s: long sessions %+v, values %v", run.Balancer, run.Talks, v)
		}
	}
	for _, b := range r.Balancers {
		if b.Config == "" || b.Version == "unknown" {
			t.Errorf("%+v", b)
		}
	}
}

func TestAnInterruptOfFailoverEndsEverythingAndKeepsWhatWasMeasured(t *testing.T) {
	b := build(t)
	b.interrupted(t, func() (*exec.Cmd, *bytes.Buffer) {
		return b.begun(t, 3, 5, "failover", "--fault", "kill,stop", "--duration", "4s", "--html", "") // the second run has begun
	}, "! Partial: interrupted in round 1 of 3", "killed (kill)")
}

func TestTheDeathOfFailoverEndsEverythingAlsoWhatStandsStill(t *testing.T) {
	b := build(t)
	cmd, _ := b.begun(t, 2, 5, "failover", "--fault", "stop", "--duration", "4s", "--html", "", "--balancer", "nginx")
	stands := func() bool {
		return slices.ContainsFunc(b.leftPids(t), func(pid string) bool {
			stat, _ := os.ReadFile("/proc/" + pid + "/stat")
			return bytes.Contains(stat, []byte(") T "))
		})
	}
	for begin := time.Now(); !stands(); {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("no backend stands still")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	b.gone(t)
}

func TestFailoverConfigurationsArePrinted(t *testing.T) {
	b := build(t)
	out, err := b.command(t, "failover", "--print-configs", "--on-down", "close").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# sluice: " + b.dir, "on_down: close", "on-marked-down shutdown-sessions", "max_fails=1", "# it has no active checks"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b.gone(t)
	b.clean(t)
}

func TestAnAdapterThatIsWrongIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	for text, reason := range map[string]string{
		"name: x\nprograms: y\n": "programs",
		"name: x\n":              "program is missing",
		"\tname: x":              "adapter",
		"":                       "a name has letters",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		status, out, errs := command(t, "failover", "--html", "", "--adapter", path)
		if status != exitUsage || !strings.Contains(errs, reason) || !strings.Contains(errs, path) || out != "" {
			t.Errorf("%q: status %d, %q", text, status, errs)
		}
	}
	if status, _, errs := command(t, "failover", "--html", "", "--adapter", path+".none"); status != exitFailed || !strings.Contains(errs, "no such file") {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestABalancerThatCannotBeMeasuredIsSaid(t *testing.T) {
	b := build(t)
	path := filepath.Join(b.dir, "broken.yaml")
	text := "name: broken\nprogram: /bin/sh\nargs: [-c, 'echo no licence >&2; exit 3']\nfile: x\nconfig: x\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := b.command(t, "failover", "--fault", "kill", "--rounds", "2", "--duration", "4s", "--html", "", "--adapter", path)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(errs.String(), "nothing could be measured") ||
		!strings.Contains(out.String(), "broken could not be measured from kill on (round 1)") || !strings.Contains(out.String(), "no licence") {
		t.Errorf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	b.gone(t)
	b.clean(t)
}

func TestALimitThatIsTooLowIsNotTakenForTheBalancersFault(t *testing.T) {
	b := build(t)
	args := []string{"--nofile=300:300", filepath.Join(b.dir, "l4bench"), "failover", "--balancer", "sluice", "--html", ""}
	out, err := exec.CommandContext(t.Context(), "prlimit", args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a limit of 300 descriptors is too low: a balancer may need 4380") {
		t.Errorf("%v\n%s", err, out)
	}
	b.clean(t)
}

func TestAnOldReportThatIsNoneIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.json")
	if err := os.WriteFile(path, []byte(`{"samples": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := command(t, "failover", "--html", "", "--compare", path); status != exitFailed || !strings.Contains(errs, path) || out != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// servers are a real redis and nginx until the test ends.
func servers(t *testing.T) (redis, http string) {
	t.Helper()
	r, err := backend.Redis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatalf("%v: these tests need redis-server and nginx", err)
	}
	t.Cleanup(r.Close)
	h, err := backend.HTTP(t.Context(), t.TempDir())
	if err != nil {
		t.Fatalf("%v: these tests need redis-server and nginx", err)
	}
	t.Cleanup(h.Close)
	return r.Addrs[0], h.Addrs[0]
}

func TestLoadIsOfferedInEachManner(t *testing.T) {
	redis, http := servers(t)
	for _, args := range []string{
		"--target " + redis + " --protocol redis --rate 200/s",
		"--target " + redis + " --protocol redis --connections 4",
		"--target " + redis + " --protocol redis --connections 4 --rate 200",
		"--target " + http + " --protocol http --path " + backend.HTTPPath + " --rate 200/s",
		"--target " + http + " --protocol http --path " + backend.HTTPPath + " --connections 4", // nginx ends each after 1,000 requests
		"--target " + http + " --rate 200/s",
		"--target " + http + " --connections 4",
	} {
		t.Run(args, func(t *testing.T) {
			status, out, errs := command(t, strings.Fields("load --duration 1s --json - "+args)...)
			var r loadResult
			if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitDone {
				t.Fatalf("status %d, %v, %q, %q", status, err, out, errs)
			}
			if len(r.Failed) > 0 || r.LatencyMS["max"] <= 0 || r.LatencyMS["p50"] > r.LatencyMS["max"] {
				t.Errorf("%+v", r)
			}
			if least, most := int64(190), int64(210); strings.Contains(args, "--rate") && (r.Served < least || r.Served > most) || r.Served < least {
				t.Errorf("%d were served", r.Served)
			}
		})
	}
}

func TestLoadTellsFailuresByTheirKind(t *testing.T) {
	_, http := servers(t)
	status, out, errs := command(t, strings.Fields("load --duration 500ms --rate 50 --protocol redis --target "+http)...)
	if status != exitFailed || !strings.Contains(out, "failed   25: 25 wrong bytes; first: ") || !strings.Contains(errs, "nothing was served") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	status, out, errs = command(t, strings.Fields("load --duration 500ms --rate 50 --target 127.0.0.1:9")...)
	if status != exitFailed || !strings.Contains(out, "25 refused") || !strings.Contains(errs, "nothing was served") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

func TestARunningSystemIsObserved(t *testing.T) {
	redis, _ := servers(t)
	dir := t.TempDir()
	jsonFile, htmlFile := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html")
	status, out, errs := command(t, strings.Fields("failover --duration 2s --rate 100/s --protocol redis --target "+redis+" --json "+jsonFile+" --html "+htmlFile)...)
	if status != exitDone || strings.Count(out, " served, worst ") != 2 || strings.Contains(out, "FAILED") || !strings.Contains(out, "longest gap") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	file, err := os.Open(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := failover.ReadResult(file)
	if err != nil || r.Runs[0].Values["attempts"] != 200 || r.Runs[0].Values["failed"] != 0 {
		t.Errorf("%v, %+v", err, r)
	}
	if html, err := os.ReadFile(htmlFile); err != nil || !bytes.Contains(html, []byte("<svg")) {
		t.Errorf("%v", err)
	}
}

func TestATargetThatIsOnAnotherMachineIsRefusedUnlessItIsOnesOwn(t *testing.T) {
	f := targetFlags{addr: "192.0.2.1:80"}
	if _, err := f.resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "--i-own-this-target") {
		t.Errorf("%v", err)
	}
	f.owned = true
	if addr, err := f.resolve(t.Context()); err != nil || addr != "192.0.2.1:80" {
		t.Errorf("%q, %v", addr, err)
	}
	for addr, want := range map[string]string{"127.3.2.1:80": "127.3.2.1:80", "[::1]:80": "[::1]:80", "localhost:80": "127.0.0.1:80"} {
		f := targetFlags{addr: addr}
		if got, err := f.resolve(t.Context()); err != nil || got != want && got != "[::1]:80" {
			t.Errorf("%s: %q, %v", addr, got, err)
		}
	}
}
