package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// ErrEnded means that a process has ended that was to go on.
var ErrEnded = errors.New("proc: process has ended")

// Command says what to run.
type Command struct {
	// Name is what errors call it.
	Name string
	// Path is the program; Args are its arguments, without its name.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Dir is the working directory; empty = this process's.
	Dir string
	// Parent is true of a program that runs processes of its own and ends them on
	// SIGTERM: if this process dies, it is given that signal instead of SIGKILL.
	Parent bool
	// Stdin is what it reads; nil = nothing. Stdout is where what it prints goes; nil = to
	// its last words, as what it prints to stderr always does. Of an *os.File, the process
	// gets a copy.
	Stdin  io.Reader
	Stdout io.Writer
}

// Process is a running child. Its methods are safe for concurrent use.
type Process struct {
	name  string
	cmd   *exec.Cmd
	words *tail
	done  chan struct{} // closed once the process has been waited for
	sweep sync.Once
}

// Start runs c. Errors are those of starting a program, and errors.ErrUnsupported on
// systems other than Linux. The caller must call Stop.
func Start(c Command) (*Process, error) {
	p := &Process{name: c.Name, words: &tail{}, done: make(chan struct{})}
	p.cmd = exec.Command(c.Path, c.Args...)
	p.cmd.Dir = c.Dir
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = c.Stdin, p.words, p.words
	if c.Stdout != nil {
		p.cmd.Stdout = c.Stdout
	}
	p.cmd.WaitDelay = time.Second // a grandchild may hold the output open
	if err := bind(p.cmd, c.Parent); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	defer close(p.done)
	_ = p.cmd.Wait() // how it ended is read from ProcessState
}

// Name is the command's.
func (p *Process) Name() string { return p.name }

// Pid is the process's id, and that of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is nil while the process runs; then it wraps ErrEnded, and tells how it ended
// and what it said last.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return fmt.Errorf("%w: %s: %v%s", ErrEnded, p.name, p.cmd.ProcessState, p.words.last(5))
	default:
		return nil
	}
}

// Stop ends the process with SIGTERM, after grace with SIGKILL, then what is left of
// its group, and waits for it. Zero or less = SIGKILL at once. Stopping twice is
// allowed.
func (p *Process) Stop(grace time.Duration) {
	if grace > 0 && p.cmd.Process.Signal(syscall.SIGTERM) == nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
		}
	}
	p.sweep.Do(func() { killGroup(p.Pid()) }) // once: later the id may be another group's
	<-p.done
}

// AwaitListening returns when the process listens on every address and accepts: nil
// then, ctx's error if that ends first, or one that wraps ErrEnded. It opens a
// connection to each, and closes it. That somebody else listens there does not count.
func (p *Process) AwaitListening(ctx context.Context, addrs ...string) error {
	for _, addr := range addrs {
		for !accepts(ctx, addr) || !p.owns(addr) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s does not listen on %s: %w%s", p.name, addr, context.Cause(ctx), p.words.last(5))
			case <-p.done:
				return p.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return p.Err()
}

// owns tells whether the process or a descendant holds the listening socket of addr.
func (p *Process) owns(addr string) bool {
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return false
	}
	pids, err := descendants(p.Pid())
	return err == nil && listening(pids, port)
}

// tail keeps the last that was written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailSize; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(b), nil
}

// last returns at most n lines, each on a line of its own below what precedes them.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text []byte
	lines := bytes.Split(bytes.TrimSpace(t.buf), []byte("\n"))
	for _, line := range lines[max(0, len(lines)-n):] {
		if len(line) > 0 {
			text = append(append(text, "\n\t"...), line...)
		}
	}
	return string(text)
}
