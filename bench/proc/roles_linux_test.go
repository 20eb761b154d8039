package proc

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// addrEnv is where a role listens.
const addrEnv = "BENCH_PROC_ADDR"

// burned is what a role burns of CPU, by its own account.
const burned = 300 * time.Millisecond

// playRole is the main function of a child.
func playRole(role string) {
	switch role {
	case "listen":
	case "stubborn": // and say so
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "I stay")
	case "burn":
		burn(burned)
	case "burn in threads":
		burnInThreads()
	case "fail":
		fmt.Fprintln(os.Stderr, "one\ntwo\nthree")
		os.Exit(3)
	case "parent": // of one that burns and listens
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), roleEnv+"=burn")
		if err := child.Start(); err != nil {
			panic(err)
		}
		_ = child.Wait()
		return
	case "supervisor": // of one that is to end with it
		p, err := Start(Command{Name: "grandchild", Path: os.Args[0], Env: []string{roleEnv + "=listen"}})
		if err != nil {
			panic(err)
		}
		<-p.Done()
		return
	}
	serveRole()
}

// serveRole listens; whoever connects and sends a byte gets one back, once more is
// held: 64 MiB of memory and 40 descriptors.
func serveRole() {
	ln, err := net.Listen("tcp", os.Getenv(addrEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var files []*os.File
	for {
		c, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		var b [1]byte
		if _, err := io.ReadFull(c, b[:]); err == nil {
			// Not from Go's heap, of which the race detector keeps a shadow.
			_, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
			if err != nil {
				panic(err)
			}
			for range 20 {
				r, w, err := os.Pipe()
				if err != nil {
					panic(err)
				}
				files = append(files, r, w)
			}
			_, _ = c.Write(b[:])
		}
		_ = c.Close()
		runtime.KeepAlive(files)
	}
}

// burn uses CPU until this thread has used d.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadTime() + d; threadTime() < end; {
	}
}

// burnInThreads burns in three threads that end.
func burnInThreads() {
	for range 3 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
			for end := threadTime() + burned/3; threadTime() < end; {
			}
		}()
		<-done
	}
}

func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// play starts a role that listens, and waits until it does.
func play(t *testing.T, role string) (p *Process, addr string) {
	t.Helper()
	p, err := StartListening(t.Context(), 1, func(ports []int) (Command, error) {
		addr = Loopback(ports[0])
		return roleCommand(role, addr), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p, addr
}

func roleCommand(role, addr string) Command {
	return Command{Name: strings.ReplaceAll(role, " ", "-"), Path: os.Args[0], Env: []string{roleEnv + "=" + role, addrEnv + "=" + addr}}
}

// eventually fails the test unless ok becomes true within ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within ten seconds: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
