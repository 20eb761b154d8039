package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/compare"
)

// bench is l4bench as users build it, and a folder with it and sluice.
type bench struct {
	dir string
	// mark is in the environment of everything that it starts.
	mark string
}

// build builds both commands as users do: the race detector's slowness is not what is
// tested here, and package compare is tested with it.
func build(t *testing.T) bench {
	t.Helper()
	for _, program := range []string{"haproxy", "nginx", "redis-server"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: these tests need haproxy, nginx, libnginx-mod-stream and redis-server", err)
		}
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "github.com/sluicelb/sluice/cmd/l4bench", "github.com/sluicelb/sluice/cmd/sluice").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bench{dir: dir, mark: "L4BENCH_TEST=" + dir}
}

// command is a command line of l4bench that ends with the test.
func (b bench) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(b.dir, "l4bench"), args...)
	cmd.Env = append(os.Environ(), b.mark, "TMPDIR="+b.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// left are the processes that carry the mark, or work in the bench's folder: redis and
// nginx write their titles over their environment.
func (b bench) left(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pid := range b.leftPids(t) {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// leftPids are their ids.
func (b bench) leftPids(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		env, _ := os.ReadFile(dir + "/environ") // what has ended has none
		cwd, _ := os.Readlink(dir + "/cwd")
		if slices.Contains(strings.Split(string(env), "\x00"), b.mark) || strings.HasPrefix(cwd, b.dir) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}

// gone fails the test unless all that the bench started ends within ten seconds.
func (b bench) gone(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); ; <-tick.C {
		left := b.left(t)
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
		}
	}
}

// clean fails the test if a temporary folder is left.
func (b bench) clean(t *testing.T) {
	t.Helper()
	if dirs, _ := filepath.Glob(filepath.Join(b.dir, "l4bench-*")); len(dirs) > 0 {
		t.Errorf("folders left: %v", dirs)
	}
}

func TestAComparisonOfRealBalancers(t *testing.T) {
	b := build(t)
	jsonFile, htmlFile := filepath.Join(b.dir, "r.json"), filepath.Join(b.dir, "r.html")
	var result compare.Result
	var out, errs bytes.Buffer
	for duration := 16 * time.Second; ; duration *= 2 { // a busy machine may need more
		out.Reset()
		errs.Reset()
		cmd := b.command(t, "compare", "--rounds", "1", "--duration", duration.String(), "--sessions", "60", "--json", jsonFile, "--html", htmlFile,
			"--balancer", "sluice,haproxy", "--balancer", "nginx", "--balancer", "sluice:base="+filepath.Join(b.dir, "sluice"))
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		text, err := os.ReadFile(jsonFile)
		if err != nil {
			t.Fatal(err)
		}
		result = compare.Result{}
		if err := json.Unmarshal(text, &result); err != nil {
			t.Fatal(err)
		}
		if result.Partial == "" || duration > time.Minute {
			break
		}
	}
	b.gone(t)
	b.clean(t)
	checkTable(t, out.String())
	checkSamples(t, &result)
	html, err := os.ReadFile(htmlFile)
	if err != nil || bytes.Count(html, []byte("<svg")) < 10 || !bytes.Contains(html, []byte("option splice-auto")) {
		t.Errorf("%v, %d charts", err, bytes.Count(html, []byte("<svg")))
	}
	if n := strings.Count(errs.String(), "\n"); n != 8*5+4 { // eight workloads for four balancers and direct, and idle sessions for four
		t.Errorf("%d lines of progress:\n%s", n, errs.String())
	}
}

// checkTable looks for every metric and every balancer.
func checkTable(t *testing.T, table string) {
	t.Helper()
	for _, m := range compare.Metrics() {
		if !strings.Contains(table, m.Title) {
			t.Errorf("no row %q", m.Title)
		}
	}
	for _, name := range []string{"sluice", "haproxy", "nginx", "base", "direct"} {
		if !strings.Contains(table, name) {
			t.Errorf("no column %q", name)
		}
	}
	if strings.Contains(table, "failed in") || strings.Contains(table, "! Partial") {
		t.Errorf("something failed")
	}
	if t.Failed() {
		t.Log("\n" + table)
	}
}

// checkSamples looks for every sample, with its value.
func checkSamples(t *testing.T, r *compare.Result) {
	t.Helper()
	if len(r.Samples) != 8*5+4 || r.Partial != "" || r.Base != "sluice" || r.Machine.Cores < 1 || len(r.Command) < 2 {
		t.Errorf("%d samples, partial %q, base %q, machine %+v, command %q", len(r.Samples), r.Partial, r.Base, r.Machine, r.Command)
	}
	for _, s := range r.Samples {
		if s.Error != "" || len(s.Failures) > 0 || len(s.Values) == 0 {
			t.Errorf("%+v", s)
		}
		if s.Workload == compare.Idle && s.Values["descriptors"] < 1.9 {
			t.Errorf("descriptors an idle session: %+v", s)
		}
	}
	for _, b := range r.Balancers {
		if b.Version == "unknown" || b.Config == "" {
			t.Errorf("%+v", b)
		}
	}
}

// begun starts a long measurement, and returns when it has said so many lines; then so many
// processes run at least.
func (b bench) begun(t *testing.T, lines, processes int, args ...string) (cmd *exec.Cmd, stdout *bytes.Buffer) {
	t.Helper()
	cmd, stdout = b.command(t, args...), &bytes.Buffer{}
	cmd.Stdout = stdout
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(progress)
	for n := 0; n < lines && scanner.Scan(); n++ {
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		_, _ = io.Copy(io.Discard, progress)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-rest
	})
	for begin := time.Now(); len(b.left(t)) < processes; {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%d processes run", len(b.left(t)))
		}
	}
	return cmd, stdout
}

// beginComparison waits for itself, three balancers and two backends; there are nginx's workers
// too.
func (b bench) beginComparison(t *testing.T) (cmd *exec.Cmd, stdout *bytes.Buffer) {
	t.Helper()
	return b.begun(t, 6, 6, "compare", "--only", "request,connection")
}

// interrupted interrupts what begin starts, and looks for what it is to print then.
func (b bench) interrupted(t *testing.T, begin func() (*exec.Cmd, *bytes.Buffer), wants ...string) {
	t.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, stdout := begin()
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
		b.gone(t)
		b.clean(t)
		for _, want := range wants {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("%v: no %q in\n%s", signal, want, stdout)
			}
		}
	}
}

func TestAnInterruptEndsEverythingAndKeepsWhatWasMeasured(t *testing.T) {
	b := build(t)
	b.interrupted(t, func() (*exec.Cmd, *bytes.Buffer) { return b.beginComparison(t) }, "! Partial: interrupted in round 1 of", "CPU a connection")
}

func TestItsDeathEndsEverything(t *testing.T) {
	b := build(t)
	cmd, _ := b.beginComparison(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	b.gone(t)
}

func TestConfigurationsArePrinted(t *testing.T) {
	b := build(t)
	out, err := b.command(t, "compare", "--print-configs").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# sluice: " + b.dir, "check: {type: none}", "option splice-auto", "nbthread 2", "worker_processes 2"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b.gone(t)
	b.clean(t)
}

func TestTooLittleTimeIsRefused(t *testing.T) {
	b := build(t)
	var errs bytes.Buffer
	cmd := b.command(t, "compare", "--duration", "2s")
	cmd.Stderr = &errs
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(errs.String(), "too short") {
		t.Errorf("%v\n%s", err, fmt.Sprint(errs.String()))
	}
	b.gone(t)
}
