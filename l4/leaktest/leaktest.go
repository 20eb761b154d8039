package leaktest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// grace is how long what a test left behind may take to go.
const grace = 10 * time.Second

// Main runs m and exits the process with what Run returns.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run runs m and returns its status, or 1 when the tests passed but goroutines or
// descriptors are left.
func Run(m *testing.M) (status int) {
	before := descriptors()
	status = m.Run()
	if status == 0 && !clean(os.Stderr, before, grace) {
		status = 1
	}
	return status
}

// clean waits until nothing is left, at most for the given time, and reports
// what is.
func clean(w io.Writer, before map[string]string, within time.Duration) bool {
	var stacks, open []string
	for end := time.Now().Add(within); ; {
		runtime.GC() // pipes cached by the standard library's splice are closed by their finalizers
		stacks, open = goroutines(), added(before, descriptors())
		if len(stacks) == 0 && len(open) == 0 {
			return true
		}
		if time.Now().After(end) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, s := range stacks {
		fmt.Fprintf(w, "leaked goroutine:\n%s\n\n", s)
	}
	for _, d := range open {
		fmt.Fprintf(w, "leaked descriptor: %s\n", d)
	}
	return false
}

// goroutines returns the stacks of those that belong to nobody but the tests.
func goroutines() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if !expected(g) {
			left = append(left, g)
		}
	}
	return left
}

// expected tells whether a stack is the test binary's own or one that the
// standard library keeps for good.
func expected(stack string) bool {
	for _, known := range []string{
		"testing.(*M).", "leaktest.goroutines", "runtime.goexit0", "created by runtime",
		"os/signal.signal_recv", "os/signal.loop", "testing/internal/", "runtime/trace", "internal/fuzz",
	} {
		if strings.Contains(stack, known) {
			return true
		}
	}
	return strings.TrimSpace(stack) == ""
}

// descriptors maps each open descriptor to what it points to.
func descriptors() map[string]string {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	open := make(map[string]string, len(entries))
	for _, e := range entries {
		to, err := os.Readlink(dir + "/" + e.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:[eventpoll]") || strings.HasPrefix(to, "anon_inode:[eventfd]") {
			continue // the reading of the folder itself, or the poller's own
		}
		open[e.Name()] = to
	}
	return open
}

func added(before, after map[string]string) []string {
	var more []string
	for fd, to := range after {
		if before[fd] != to {
			more = append(more, fd+" "+to)
		}
	}
	return more
}
