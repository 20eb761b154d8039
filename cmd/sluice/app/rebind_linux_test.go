package app

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/sluice/systemd"
)

// option reads a socket option of the far end of a connection to this process: of the socket
// that was accepted.
func option(t *testing.T, client net.Conn, level, name int) int {
	t.Helper()
	fd := accepted(t, client)
	defer unix.Close(fd)
	n, err := unix.GetsockoptInt(fd, level, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// accepted returns a duplicate of the descriptor whose peer is the client.
func accepted(t *testing.T, client net.Conn) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	want := client.LocalAddr().(*net.TCPAddr)
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd)
		if in, ok := peer.(*unix.SockaddrInet4); err == nil && ok && in.Port == want.Port {
			own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return own
		}
	}
	t.Fatalf("nobody has accepted %s", want)
	return -1
}

func TestTimeoutsOfSocketsReachNewClients(t *testing.T) {
	for _, engine := range []Engine{Default, Portable} {
		t.Run(string(engine.Resolved()), func(t *testing.T) {
			a := talk(t, "a")
			file := func(user, keepalive string) string {
				return webWith(", timeouts: {user: "+user+", keepalive: "+keepalive+"}", anyPort, a.yaml())
			}
			r := runWith(t, file("30s", "15s"), Options{Engine: engine})
			address := r.listen("web")
			first := visit(t, address)
			stop := connects(t, address)
			r.becomes(file("7s", "9s"))
			second := visit(t, address)
			stop()
			for _, c := range []struct {
				g               *guest
				user, keepalive int
			}{{first, 30000, 15}, {second, 7000, 9}} {
				if got := option(t, c.g, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); got != c.user {
					t.Errorf("TCP_USER_TIMEOUT is %d, want %d", got, c.user)
				}
				if got := option(t, c.g, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL); got != c.keepalive {
					t.Errorf("TCP_KEEPINTVL is %d, want %d", got, c.keepalive)
				}
				c.g.lives()
			}
			if r.listen("web") != address {
				t.Errorf("the port became %s", r.listen("web"))
			}
		})
	}
}

// TestPassedSockets is played by a process of its own, which gets sockets as systemd passes
// them.
func TestPassedSocketsStayOpenAndChangeHands(t *testing.T) {
	if os.Getenv("LISTEN_FDS") != "" {
		playPassed(t)
		return
	}
	var files []*os.File
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" -test.run='^TestPassedSocketsStayOpenAndChangeHands$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "LISTEN_FDS=2", "LISTEN_FDNAMES=in:in")
	cmd.ExtraFiles = files
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func playPassed(t *testing.T) {
	passed := systemd.Passed()
	defer passed.Close()
	a := talk(t, "a")
	r := runWith(t, named("n0", "fd:in", a.yaml()), Options{Passed: passed})
	addresses := r.Addresses("n0")
	if len(addresses) != 2 {
		t.Fatalf("it listens on %v", addresses)
	}
	stops := []func() int64{connects(t, addresses[0]), connects(t, addresses[1])}
	const timeouts = ", timeouts: {user: 7s}}\n"
	r.becomes(named("n1", "fd:in", a.yaml()))
	r.becomes(strings.Replace(named("n1", "fd:in", a.yaml()), "}\n", timeouts, 1))
	r.becomes(named("n1", "fd:in", a.yaml("weight: 3")))
	for _, stop := range stops {
		stop()
	}
	if now := r.Addresses("n1"); len(now) != 2 || now[0] != addresses[0] || now[1] != addresses[1] {
		t.Errorf("it listens on %v, did on %v", now, addresses)
	}
	r.becomes(named("n1", "unix:"+filepath.Join(t.TempDir(), "s"), a.yaml()))
	r.becomes(named("n1", "fd:in", a.yaml())) // the sockets were not closed
	visit(t, addresses[0]).lives()
	visit(t, addresses[1]).lives()
}
