//go:build linux

package parts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait for something that ought to happen at once: long enough for a busy machine under the
// race detector, short enough to fail a test rather than the run.
const Patience = 15 * time.Second

// Process is a child in its own process group. Its output is kept and shown if the test fails.
type Process struct {
	Name string
	// Output is everything the process wrote, stdout and stderr together.
	Output *Tail

	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed once the process has been waited for
}

// Tail is the last megabyte written to it, or somewhat more. It is safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write appends p and never fails.
func (o *Tail) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p...)
	if len(o.buf) > 2<<20 { // seldom, since it copies
		o.buf = append(o.buf[:0], o.buf[len(o.buf)-1<<20:]...)
	}
	return len(p), nil
}

// String returns what is kept.
func (o *Tail) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf)
}

// Last returns at most n of the last lines.
func (o *Tail) Last(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(o.buf), []byte("\n"))
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}

// Find returns the path of an installed program, and fails the test with the name of its package if there is none.
// Besides PATH it looks where Debian puts servers.
func Find(t testing.TB, program, pkg string) string {
	t.Helper()
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	for _, pattern := range []string{"/usr/sbin/", "/sbin/", "/usr/lib/postgresql/*/bin/"} {
		found, _ := filepath.Glob(pattern + program)
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Fatalf("%s is not installed: these tests need the package %s (apt-get install %s)", program, pkg, pkg)
	return ""
}

// startProcess runs cmd in its own process group until the test ends. Streams of cmd that are not set go to Output.
func startProcess(t testing.TB, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Name: name, Output: &Tail{}, t: t, cmd: cmd, done: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = p.Output
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.Output
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // a test binary that panics leaves nothing behind
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go p.wait()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s ended with %v; its last lines:\n%s", name, cmd.ProcessState, p.Output.Last(15))
		}
	})
	return p
}

func (p *Process) wait() {
	defer close(p.done)
	_ = p.cmd.Wait() // the state is read from ProcessState
}

// Pid is the process's id, which is also the id of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends sig to the process alone.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("signal %v to %s: %v", sig, p.Name, err)
	}
}

// Kill ends the process and its children with SIGKILL and waits for it. Killing an ended process does nothing.
func (p *Process) Kill() {
	if !p.Ended() {
		_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // it may end meanwhile
	}
	<-p.done
}

// Ended tells whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Exit waits at most within for the process to end and returns its exit status, -1 if a signal ended it.
// A process that is still running fails the test.
func (p *Process) Exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.t.Fatalf("%s still runs after %v", p.Name, within)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Result is what a command that ran to its end left behind.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Command runs a program to its end, at most Patience long.
func Command(t testing.TB, name string, args ...string) Result {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "GORACE=exitcode=66 atexit_sleep_ms=0") // else a race-checked one sleeps for a second at its end
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p := startProcess(t, filepath.Base(name), cmd)
	code := p.Exit(2 * Patience)
	return Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// TempDir makes a folder that any user may enter, and removes it with the test.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeFile writes text to name in dir and returns its path.
func writeFile(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
