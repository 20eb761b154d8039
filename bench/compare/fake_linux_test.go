package compare

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/bench/balancer"
)

// Known costs of fakes.
const (
	fakeBurn   = 400 * time.Microsecond // of CPU for each read from a client
	fakeMemory = 100 << 10              // bytes for each session, never returned
	fakePipes  = 3                      // for each session, never closed
)

// fake is a balancer of which the fault is known, as an installed one. It reads the
// configuration of a sluice.
func fake(t *testing.T, fault string) balancer.Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), fakePrefix+fault)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return balancer.Spec{Kind: balancer.Sluice, Name: fault, Path: path, Version: "fake"}
}

// playBalancer is the main function of a fake, called as "run -c FILE".
func playBalancer(fault string) {
	text, err := os.ReadFile(os.Args[3])
	if err != nil {
		panic(err)
	}
	services := regexp.MustCompile(`listen: (\S+)\n\s+backends: \[([^,\]]+)`).FindAllStringSubmatch(string(text), -1)
	f := &faulty{fault: fault}
	for _, s := range services {
		ln, err := net.Listen("tcp", s[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go f.serve(ln, s[2])
	}
	select {}
}

// faulty relays, but for its fault.
type faulty struct {
	fault    string
	sessions atomic.Int64
}

func (f *faulty) serve(ln net.Listener, backend string) {
	for {
		client, err := ln.Accept()
		if err != nil {
			panic(err)
		}
		go f.session(client.(*net.TCPConn), backend)
	}
}

func (f *faulty) session(client *net.TCPConn, backend string) {
	defer client.Close()
	n := f.sessions.Add(1)
	switch {
	case f.fault == "reset" && n%10 == 0:
		_ = client.SetLinger(0)
		return
	case f.fault == "hold":
		hold()
	}
	server, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		f.pump(server, client, f.fault == "burn", false)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	f.pump(client, server, false, f.fault == "flip")
}

// pump copies from one side to the other.
func (f *faulty) pump(to io.Writer, from io.Reader, burning, flipping bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if burning {
			burn(fakeBurn)
		}
		if flipping && n > 1000 {
			buf[n/2] ^= 1
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold takes memory and descriptors for good.
func hold() {
	const private = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_POPULATE
	if _, err := unix.Mmap(-1, 0, fakeMemory, unix.PROT_READ|unix.PROT_WRITE, private); err != nil {
		panic(err)
	}
	for range fakePipes {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			panic(err)
		}
	}
}

// burn uses d of CPU.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadTime() + d; threadTime() < end; {
	}
}

func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
