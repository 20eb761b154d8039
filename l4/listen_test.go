package l4

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// C22: the log has an IPv4 client as IPv4, whatever socket it came by.
func TestListenersOfEveryFamily(t *testing.T) {
	dir := socketDir(t)
	for _, c := range []struct{ name, listen, host string }{
		{"IPv4", "127.0.0.1:0", "127.0.0.1"},
		{"IPv6", "[::1]:0", "::1"},
		{"IPv4 on every address", "0.0.0.0:0", "127.0.0.1"},
		{"IPv4 on a dual-stack socket", "[::]:0", "127.0.0.1"},
		{"IPv6 on a dual-stack socket", "[::]:0", "::1"},
		{"IPv4, no host", ":0", "127.0.0.1"},
		{"IPv6, no host", ":0", "::1"},
		{"Unix", "unix:" + filepath.Join(dir, "s"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := assemble(t, Config{}, echoes(t, 1)...)
			var client relay.Conn
			var want string
			switch a := r.listen(c.listen).(type) {
			case *net.UnixAddr:
				client, want = dialTest(t, "unix", a.Name, ""), "unix"
			case *net.TCPAddr:
				client = dialTest(t, "tcp", (&net.TCPAddr{IP: net.ParseIP(c.host), Port: a.Port}).String(), "")
				want = client.LocalAddr().String()
			}
			expectEcho(t, client, "x")
			client.Close()
			if l := r.log.await(t, "session", 1)[0]; l["client"] != want {
				t.Errorf("client is %q, want %q", l["client"], want)
			}
		})
	}
}

func TestAServiceHasSeveralListenersAndOneLimit(t *testing.T) {
	r := assemble(t, Config{MaxConnections: 3}, echoes(t, 1)...)
	path := r.listen("unix:" + filepath.Join(socketDir(t), "s")).String()
	var clients []relay.Conn
	for range 2 {
		r.address = r.listen("127.0.0.1:0").String()
		clients = append(clients, r.connect())
	}
	clients = append(clients, dialTest(t, "unix", path, ""))
	for _, c := range clients {
		expectEcho(t, c, "x")
	}
	r.expectTurnedAway()
	within(t, "Close to return", r.Close)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestBackendsOnUnixSockets(t *testing.T) {
	path := filepath.Join(socketDir(t), "b")
	f := backendOn(t, "unix", path, func(c relay.Conn) { c.Write([]byte("hello ")); echo(c) })
	r := serve(t, Config{}, f.config("b"))
	c := r.connect()
	expectRead(t, c, "hello ")
	expectEcho(t, c, "x")
	c.CloseWrite()
	expectDrain(t, c, "", "eof")
	r.awaitEnded(relay.EOF, 1)
	if b := r.Backends()[0]; b.Address != "unix:"+path || b.Moved != [2]int64{1, 7} {
		t.Errorf("%+v", b)
	}
}

func TestAnAbandonedSocketIsReplaced(t *testing.T) {
	path := filepath.Join(socketDir(t), "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	r := assemble(t, Config{}, echoes(t, 1)...)
	r.listen("unix:" + path)
	expectEcho(t, dialTest(t, "unix", path, ""), "x")
}

func TestWhatIsInUseOrNoSocketIsNotReplaced(t *testing.T) {
	dir := socketDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	live := backendOn(t, "unix", filepath.Join(dir, "live"), echo)
	tcp := backend(t, echo)
	for _, address := range []string{live.address, "unix:" + file, tcp.address} {
		if ln, err := Listen(context.Background(), address); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v, %v", address, ln, err)
		}
	}
	if b, err := os.ReadFile(file); string(b) != "precious" {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
	expectEcho(t, dialTest(t, "unix", filepath.Join(dir, "live"), ""), "x")
	if _, err := Listen(context.Background(), "unix:"+filepath.Join(dir, "none", "s")); err == nil {
		t.Error("a socket in a folder that is not there")
	}
}

// C56: clients queue in the system, as many as it allows, though nobody accepts.
func TestABurstOfConnectsFindsRoomInTheQueue(t *testing.T) {
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	n := min(1000, queueLimit())
	parallel(20, func(i int) {
		for range n / 20 {
			c, err := net.DialTimeout("tcp", ln.Addr().String(), 10*time.Second)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
		}
	})
}

// C56
func TestABurstOfConnectsIsServed(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 2)...)
	parallel(20, func(int) {
		for range 25 {
			c, err := net.Dial("tcp", r.address)
			if err != nil {
				t.Error(err)
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			if _, err := c.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			c.Close()
		}
	})
	r.awaitActive(0)
	if r.ended(relay.EOF) != 500 {
		t.Errorf("ended: %v", r.Stats().Ended)
	}
}

func TestASocketFileOfAnotherProcessIsLeftAlone(t *testing.T) {
	path := t.TempDir() + "/s"
	first, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // by somebody, who then starts another one
		t.Fatal(err)
	}
	second, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the second's file went with the first: %v", err)
	}
	second.Close()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the second's file is still there: %v", err)
	}
}
