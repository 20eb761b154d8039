package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAProcessRunsUntilItIsStopped(t *testing.T) {
	p, addr := play(t, "listen")
	if err := p.Err(); err != nil {
		t.Fatalf("runs, but: %v", err)
	}
	if !accepts(t.Context(), addr) {
		t.Fatal("does not listen")
	}
	p.Stop(10 * time.Second)
	p.Stop(10 * time.Second) // again
	if err := p.Err(); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("ended with %v, not by SIGTERM", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("not done")
	}
	if accepts(t.Context(), addr) {
		t.Error("still listens")
	}
}

func TestWhoDoesNotEndIsKilled(t *testing.T) {
	p, _ := play(t, "stubborn")
	p.Stop(50 * time.Millisecond)
	err := p.Err()
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(err.Error(), "I stay") {
		t.Errorf("without its last words: %v", err)
	}
}

func TestChildrenOfAProcessEndWithIt(t *testing.T) {
	p, addr := play(t, "parent")
	p.Stop(10 * time.Second) // which the parent does not pass on
	eventually(t, "the child is gone", func() bool { return !accepts(t.Context(), addr) })
}

func TestAProcessDoesNotOutliveItsParent(t *testing.T) {
	ports, err := FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	addr := Loopback(ports[0])
	supervisor := exec.Command(os.Args[0])
	supervisor.Env = append(os.Environ(), roleEnv+"=supervisor", addrEnv+"="+addr)
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the grandchild listens", func() bool { return accepts(t.Context(), addr) })
	_ = supervisor.Process.Kill()
	_ = supervisor.Wait()
	eventually(t, "the grandchild is gone", func() bool { return !accepts(t.Context(), addr) })
}

func TestAnInterruptAtTheTerminalIsNotTheChilds(t *testing.T) {
	p, _ := play(t, "listen")
	group, err := syscall.Getpgid(p.Pid())
	if err != nil || group != p.Pid() || group == syscall.Getpgrp() {
		t.Errorf("group %d of pid %d, %v", group, p.Pid(), err)
	}
}

func TestStartingWhatIsNotThereFails(t *testing.T) {
	_, err := Start(Command{Name: "nothing", Path: "/nonexistent/program"})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("%v", err)
	}
}

func TestAProgramThatFailsIsStartedOnceAndTellsWhy(t *testing.T) {
	tries := 0
	_, err := StartListening(t.Context(), 2, func(ports []int) (Command, error) {
		tries++
		if len(ports) != 2 || ports[0] == ports[1] {
			t.Errorf("ports %v", ports)
		}
		return roleCommand("fail", ""), nil
	})
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "\n\tthree") {
		t.Errorf("%v", err)
	}
	if tries != 1 {
		t.Errorf("started %d times", tries)
	}
}

func TestAPortThatIsTakenMeanwhileIsGivenUp(t *testing.T) {
	tries := 0
	p, err := StartListening(t.Context(), 1, func(ports []int) (Command, error) {
		addr := Loopback(ports[0])
		if tries++; tries < 3 {
			taken, err := net.Listen("tcp4", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = taken.Close() })
			return roleCommand("fail", addr), nil // as a server does that cannot bind
		}
		return roleCommand("listen", addr), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Stop(0)
	if tries != 3 {
		t.Errorf("started %d times", tries)
	}
}

func TestAPortThatIsAlwaysTakenIsAnError(t *testing.T) {
	tries := 0
	_, err := StartListening(t.Context(), 1, func(ports []int) (Command, error) {
		tries++
		taken, err := net.Listen("tcp4", Loopback(ports[0]))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = taken.Close() })
		return roleCommand("fail", ""), nil
	})
	if !errors.Is(err, ErrEnded) || tries != startTries {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestACommandThatCannotBeMadeIsAnError(t *testing.T) {
	want := errors.New("no configuration")
	_, err := StartListening(t.Context(), 1, func([]int) (Command, error) { return Command{}, want })
	if !errors.Is(err, want) {
		t.Errorf("%v", err)
	}
}

func TestWaitingForAListenerEndsWithItsContext(t *testing.T) {
	p, _ := play(t, "listen")
	ports, err := FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := p.AwaitListening(ctx, Loopback(ports[0])); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

func TestFreePortsDifferAndLieWhereNobodyDialsFrom(t *testing.T) {
	ports, err := FreePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if port < firstPort || port >= lastPort || seen[port] {
			t.Errorf("port %d in %v", port, ports)
		}
		seen[port] = true
		ln, err := net.Listen("tcp4", Loopback(port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		_ = ln.Close()
	}
}

func TestChildrenHaveTheRaisedLimit(t *testing.T) {
	limit, err := RaiseFileLimit()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(Output(t.Context(), "/bin/sh", "-c", "ulimit -n")); got != fmt.Sprint(limit) {
		t.Errorf("a child's limit is %s, ours %d", got, limit)
	}
}

func TestAProcessIsSpokenWith(t *testing.T) {
	var out strings.Builder
	p, err := Start(Command{
		Name: "cat", Path: "/bin/sh", Args: []string{"-c", "cat; echo aside >&2; exit 1"},
		Stdin: strings.NewReader("hello"), Stdout: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if err := p.Err(); out.String() != "hello" || !strings.HasSuffix(err.Error(), "\n\taside") {
		t.Errorf("it answered %q; %v", out.String(), err)
	}
}

func TestVersionIsTheFirstLine(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"stdout", "echo one; echo two", "one"},
		{"stderr", "echo 'nginx version: 1' >&2", "nginx version: 1"},
		{"nothing", "true", "unknown"},
		{"failed", "echo one; exit 1", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Version(t.Context(), "/bin/sh", "-c", tt.script); got != tt.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestOnlyTheLastWordsAreKept(t *testing.T) {
	var w tail
	if got := w.last(3); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	for i := range 10_000 {
		fmt.Fprintf(&w, "line %d\n", i)
	}
	if got := w.last(2); got != "\n\tline 9998\n\tline 9999" {
		t.Errorf("%q", got)
	}
	if len(w.buf) > tailSize {
		t.Errorf("%d bytes kept", len(w.buf))
	}
}
