//go:build linux

package parts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Build compiles the sluice binary into dir and returns its path.
func Build(dir string, race bool) (string, error) {
	name, args := "sluice", []string{"build"}
	if race {
		name, args = "sluice-race", append(args, "-race")
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", append(args, "-o", path, "github.com/sluicelb/sluice/cmd/sluice")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// Config says how to run a sluice.
type Config struct {
	// Binary is what Build returned.
	Binary string
	// YAML is the file. Without a log section it gets JSON with every session, without a shutdown_timeout 1s.
	YAML string
	// Args replaces the command line `run -c FILE`; YAML is then not used.
	Args []string
	// Engine is the relay engine, loops or portable; the default if it is empty.
	Engine string
	// Wrap is put before the command line, such as prlimit and its options. It must replace itself by sluice.
	Wrap []string
	// Env is added to the environment.
	Env []string
	// Files are descriptors that it gets, from 3 on.
	Files []*os.File
}

// Sluice is a running sluice.
type Sluice struct {
	*Process
	Log *Log
	// File is the configuration it was started with.
	File string

	binary  string
	logPipe *os.File // our end
	logDone chan struct{}
	stopped bool // the test has ended it and judged its exit status
}

// RunSluice starts a sluice. It does not wait until it listens: Addr does.
//
// With the end of the test it gets SIGTERM and must exit with status 0, unless the test has ended it before. A data
// race or a panic fails the test in any case.
func RunSluice(t testing.TB, c Config) *Sluice {
	t.Helper()
	s := &Sluice{Log: newLog(), binary: c.Binary, logDone: make(chan struct{})}
	args := c.Args
	if args == nil {
		s.File = writeFile(t, TempDir(t), "sluice.yaml", complete(c.YAML))
		args = []string{"run", "-c", s.File}
	}
	if c.Engine != "" {
		args = append(args, "--engine", c.Engine)
	}
	line := append(append(append([]string(nil), c.Wrap...), c.Binary), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(append(os.Environ(), "GORACE=halt_on_error=1 exitcode=66 atexit_sleep_ms=0"), c.Env...)
	cmd.ExtraFiles = c.Files
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	s.Process = startProcess(t, "sluice", cmd)
	_ = w.Close() // the child holds the other copy
	s.logPipe = r
	go s.readLog()
	t.Cleanup(func() {
		s.finish(t)
		if t.Failed() {
			s.tell(t)
		}
	})
	return s
}

// tell logs what happened beside sessions, which are too many.
func (s *Sluice) tell(t testing.TB) {
	t.Helper()
	for _, r := range s.Log.All(Match{}) {
		if r.Get("msg") != "session" {
			t.Log(r.Raw)
		}
	}
}

func complete(yaml string) string {
	if !strings.Contains(yaml, "log:") {
		yaml = "log: {level: info, format: json, sessions: all}\n" + yaml
	}
	if !strings.Contains(yaml, "shutdown_timeout:") {
		yaml = "shutdown_timeout: 1s\n" + yaml
	}
	return yaml
}

func (s *Sluice) readLog() {
	defer close(s.logDone)
	defer s.logPipe.Close()
	s.Log.read(s.logPipe, s.Output)
}

// DropLog closes the reading end of sluice's stderr: from now on its records meet a broken pipe.
func (s *Sluice) DropLog() {
	_ = s.logPipe.Close()
	<-s.logDone
}

// Crash ends sluice by SIGKILL.
func (s *Sluice) Crash() {
	s.stopped = true
	s.Kill()
}

// finish runs at the end of the test.
func (s *Sluice) finish(t testing.TB) {
	if !s.stopped {
		s.Stop(t)
	}
	<-s.logDone
	for _, line := range s.Log.Other() {
		if strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			t.Errorf("sluice wrote %q:\n%s", line, strings.Join(s.Log.Other(), "\n"))
			return
		}
	}
}

// HoldLog stops reading sluice's stderr until the end of the test: once the pipe is full, writing to it blocks. It
// returns with the next record that is read.
func (s *Sluice) HoldLog(t testing.TB) {
	t.Helper()
	s.PauseLog(t)
}

// PauseLog is HoldLog until resume is called, or the test ends.
func (s *Sluice) PauseLog(t testing.TB) (resume func()) {
	t.Helper()
	s.Log.gate.Lock()
	resume = sync.OnceFunc(s.Log.gate.Unlock)
	t.Cleanup(resume)
	return resume
}

// Addr waits until the service listens and returns its actual address.
func (s *Sluice) Addr(t testing.TB, service string) string {
	t.Helper()
	r := s.Log.Await(t, Patience, 1, Match{Msg: "listening", Fields: Fields{"service": service}})
	addr := r.Get("address")
	if addr == "" {
		t.Fatalf("record without an address: %s", r.Raw)
	}
	return addr
}

// AwaitUp waits until every named backend of any service has been reported up.
func (s *Sluice) AwaitUp(t testing.TB, backends ...string) {
	t.Helper()
	for _, b := range backends {
		s.Log.Await(t, Patience, 1, Match{Msg: "backend up", Fields: Fields{"backend": b}})
	}
}

// Stop sends SIGTERM and fails the test unless sluice exits with status 0.
func (s *Sluice) Stop(t testing.TB) {
	t.Helper()
	s.Signal(syscall.SIGTERM)
	s.ExpectExit(t, Patience, 0)
}

// ExpectExit waits for the end of the process and fails the test if its status is another one.
func (s *Sluice) ExpectExit(t testing.TB, within time.Duration, want int) {
	t.Helper()
	s.stopped = true
	if got := s.Exit(within); got != want {
		t.Errorf("sluice exited with %d, want %d", got, want)
	}
	<-s.logDone
}

// Stacks ends the process with SIGQUIT and returns the stack of each goroutine it had.
func (s *Sluice) Stacks(t testing.TB) []string {
	t.Helper()
	s.stopped = true
	s.Signal(syscall.SIGQUIT)
	s.Exit(Patience)
	<-s.logDone
	var stacks []string
	for _, line := range s.Log.Other() {
		if strings.HasPrefix(line, "goroutine ") {
			stacks = append(stacks, "")
		}
		if n := len(stacks); n > 0 {
			stacks[n-1] += line + "\n"
		}
	}
	return stacks
}
