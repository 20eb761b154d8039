package admin

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// useSocket makes the client of r connect to a socket.
func useSocket(r *running, path string) {
	r.address = "socket"
	r.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
}

func TestAnAddressThatOthersReachNeedsAGuard(t *testing.T) {
	token, mutual := Guards{Token: true}, Guards{TLS: true, ClientCA: true}
	for _, c := range []struct {
		guards  Guards
		address string
		says    string // "" = it is allowed
	}{
		{Guards{}, "127.0.0.1:9090", ""}, {Guards{}, "127.3.2.1:0", ""}, {Guards{}, "[::1]:9090", ""}, {Guards{}, "[::ffff:127.0.0.1]:1", ""},
		{Guards{}, "localhost:9090", ""}, {Guards{}, "LOCALHOST.:9090", ""}, {Guards{}, "unix:/run/s", ""}, {Guards{TLS: true}, "127.0.0.1:1", ""},
		{Guards{}, ":9090", "set a token"}, {Guards{}, "0.0.0.0:9090", "set a token"}, {Guards{}, "[::]:9090", "set a token"},
		{Guards{}, "192.0.2.1:9090", "192.0.2.1:9090 can be reached from elsewhere"}, {Guards{}, "lb.example:9090", "or listen on 127.0.0.1"},
		{Guards{}, "127.0.0.1.example:1", "set a token"}, {Guards{}, "nonsense", "set a token"}, {Guards{}, "", "set a token"},
		{Guards{TLS: true}, ":9090", "TLS alone keeps nobody out"},
		{Guards{ClientCA: true}, "127.0.0.1:1", "needs a certificate"}, {Guards{ClientCA: true, Token: true}, ":1", "needs a certificate"},
		{token, ":9090", ""}, {Guards{TLS: true, Token: true}, ":9090", ""}, {mutual, ":9090", ""},
	} {
		err := c.guards.Check(c.address)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v on %q: %v, want %q", c.guards, c.address, err, c.says)
		}
	}
}

func TestServeRefusesWhatNothingGuards(t *testing.T) {
	ln := pipes(&net.TCPAddr{IP: net.IPv4zero, Port: 9090})
	s, err := New(Config{Control: newFake()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); err == nil || !strings.Contains(err.Error(), "set a token") {
		t.Error(err)
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is open")
	}
	s.Close()
}

func TestASocketIsForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Listen(t.Context(), "unix:"+path); err == nil || !strings.HasPrefix(err.Error(), "admin: listen on unix:"+path) {
		t.Errorf("a socket that is served: %v", err)
	}
	ln.Close()
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is left")
	}
}

func TestASocketThatNobodyServesIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	ln, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	r := beginOn(t, Config{}, ln)
	useSocket(r, path)
	r.expect(200, "GET", "/healthz", "")
}

func TestWhatIsNoSocketIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"unix:" + path, "unix:" + path + "/none/s", "nonsense"} {
		if ln, err := Listen(t.Context(), address); err == nil {
			ln.Close()
			t.Errorf("listens on %s", address)
		}
	}
	if b, err := os.ReadFile(path); string(b) != "precious" {
		t.Errorf("%q, %v", b, err)
	}
}
