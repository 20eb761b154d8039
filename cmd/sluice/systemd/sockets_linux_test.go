package systemd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// roles are what the test binary does when it is started as a service.
func roles() map[string]func() int {
	return map[string]func() int{"serve": playServe, "child": playChild}
}

// start starts this test binary as systemd starts a service: the sockets from descriptor 3 on, and the process's own
// number in LISTEN_PID, which only what has become that process can know.
func start(t *testing.T, role, names string, args []string, files ...*os.File) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, os.Args[0]}, args...)...)
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), roleVariable+"="+role, fmt.Sprintf("LISTEN_FDS=%d", len(files)), "LISTEN_FDNAMES="+names)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	return string(out)
}

// playServe answers one client of each socket of the names in its arguments with the name and its place, then says what it
// sees, and what a child of it sees.
func playServe() int {
	sockets := Passed()
	fmt.Printf("names %s\n", strings.Join(sockets.Names(), " "))
	for _, name := range os.Args[1:] {
		listeners, err := sockets.Listen(name)
		if err != nil {
			fmt.Printf("error %v\n", err)
			continue
		}
		for i, ln := range listeners {
			if err := serveOne(ln, fmt.Sprintf("%s %d\n", name, i)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	fmt.Printf("again %d\n", len(Passed().Names()))
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"=child")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveOne(ln net.Listener, text string) error {
	defer ln.Close()
	if d, ok := ln.(interface{ SetDeadline(time.Time) error }); ok {
		d.SetDeadline(time.Now().Add(patience))
	}
	conn, err := ln.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	return err
}

// playChild prints what it inherited.
func playChild() int {
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "LISTEN_") {
			fmt.Printf("child has %s\n", v)
		}
	}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, l := range links {
		if to, _ := os.Readlink(l); strings.HasPrefix(to, "socket:") {
			fmt.Printf("child has %s %s\n", l, to)
		}
	}
	fmt.Println("child done")
	return 0
}

// listen opens a socket and returns it as a file. A client may connect from now on, whoever accepts in the end.
func listen(t *testing.T, network, address string) (f *os.File, at string) {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	defer ln.Close()
	f, err = ln.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, ln.Addr().String()
}

// dial connects, and returns what reads the answer.
func dial(t *testing.T, network, address string) *bufio.Reader {
	t.Helper()
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return bufio.NewReader(conn)
}

func TestEverySocketOfANameServesAndNoChildInheritsIt(t *testing.T) {
	path := filepath.Join(shortDir(t), "db")
	web1, at1 := listen(t, "tcp", "127.0.0.1:0")
	db, _ := listen(t, "unix", path)
	web2, at2 := listen(t, "tcp", "127.0.0.1:0")
	clients := []*bufio.Reader{dial(t, "tcp", at1), dial(t, "tcp", at2), dial(t, "unix", path)}
	out := start(t, "serve", "web:db:web", []string{"web", "db", "mail"}, web1, db, web2)
	for i, want := range []string{"web 0\n", "web 1\n", "db 0\n"} {
		if got, err := clients[i].ReadString('\n'); got != want {
			t.Errorf("client %d: %q, %v; want %q", i, got, err, want)
		}
	}
	const want = "names db web\nerror fd:mail: no such socket was passed; there are: db, web\nagain 0\nchild done\n"
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the manager's socket is gone: %v", err)
	}
}

func TestASocketWithoutANameIsCalledByItsDescriptor(t *testing.T) {
	a, at := listen(t, "tcp", "127.0.0.1:0")
	client := dial(t, "tcp", at)
	out := start(t, "serve", "", []string{"LISTEN_FD_3"}, a)
	if got, err := client.ReadString('\n'); got != "LISTEN_FD_3 0\n" {
		t.Errorf("%q, %v", got, err)
	}
	if want := "names LISTEN_FD_3\nagain 0\nchild done\n"; out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

func TestWhatIsNoListenerIsRefused(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	datagrams, err := udp.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer datagrams.Close()
	packets, _ := listen(t, "unixpacket", filepath.Join(shortDir(t), "p"))
	out := start(t, "serve", "pipe:udp:packet:stream", []string{"pipe", "udp", "packet", "stream"}, r, datagrams, packets, connected(t))
	for _, name := range []string{"pipe", "udp", "packet", "stream"} {
		if want := "error fd:" + name + ": not a listening stream socket\n"; !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant in it\n%s", out, want)
		}
	}
}

// connected returns an end of a TCP connection.
func connected(t *testing.T) *os.File {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.DialTimeout("tcp", ln.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestSocketsOfAnotherProcessAreLeftAlone(t *testing.T) {
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "3")
	t.Setenv("LISTEN_FDNAMES", "a:b:c")
	s := Passed()
	if names := s.Names(); len(names) > 0 {
		t.Errorf("took %v", names)
	}
	if v, set := os.LookupEnv("LISTEN_FDS"); set {
		t.Errorf("LISTEN_FDS=%s is left for children", v)
	}
	_, err := s.Listen("a")
	if want := "fd:a: no such socket was passed; there are: none"; !errors.Is(err, ErrNoSocket) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A service may leave the configuration and come back: the socket is the manager's all the time.
func TestAListenerThatIsClosedCanBeHadAgain(t *testing.T) {
	f, at := listen(t, "tcp", "127.0.0.1:0")
	s := &Sockets{files: map[string][]*os.File{"web": {f}}}
	for range 3 {
		all, err := s.Listen("web")
		if err != nil {
			t.Fatal(err)
		}
		client := dial(t, "tcp", at)
		if err := serveOne(all[0], "hello\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := client.ReadString('\n'); got != "hello\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
	waiting := dial(t, "tcp", at) // while nobody listens
	all, err := s.Listen("web")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := serveOne(all[0], "late\n"); err != nil {
		t.Error(err)
	}
	if got, err := waiting.ReadString('\n'); got != "late\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestASocketThatFailsTakesTheOthersOfItsNameAlong(t *testing.T) {
	good, _ := listen(t, "tcp", "127.0.0.1:0")
	s := &Sockets{files: map[string][]*os.File{"web": {good, connected(t)}}}
	if all, err := s.Listen("web"); !errors.Is(err, ErrNotListening) || all != nil {
		t.Errorf("got %v, %v", all, err) // that the first was closed is what the leak check sees
	}
}
