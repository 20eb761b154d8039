package l4

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// A Unix socket's full queue is a backend that is slow to accept, not one that refuses.
func TestAUnixBackendWithAFullQueueCostsADelay(t *testing.T) {
	const clients = 20
	path := t.TempDir() + "/s"
	ln := listenShort(t, path)
	r := serve(t, Config{}, BackendConfig{Address: "unix:" + path, Weight: 1})
	heard := observe(r.backends[0])
	conns := make([]relay.Conn, clients)
	for i := range conns {
		conns[i] = r.connect()
	}
	eventually(t, "the dials to be under way", func() bool { return r.Backends()[0].Sessions == clients })
	go func() {
		for range conns {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c)
			t.Cleanup(func() { c.Close() })
		}
	}()
	for _, c := range conns {
		expectEcho(t, c, "x")
	}
	if f := r.dialFailures(); len(f) != 0 || len(heard.failures()) != 0 {
		t.Errorf("dials failed: %v, the observer heard %v", f, heard.failures())
	}
}

func TestAUnixBackendWhoseQueueStaysFullFailsInTime(t *testing.T) {
	path := t.TempDir() + "/s"
	listenShort(t, path)
	r := serve(t, Config{Connect: ConnectConfig{Timeout: 100 * time.Millisecond}}, BackendConfig{Address: "unix:" + path, Weight: 1})
	for range 5 { // two fit in
		r.connect()
	}
	eventually(t, "the dials to fail", func() bool { return r.dialFailures()["timeout"] == 3 })
}

// listenShort listens with a queue for one.
func listenShort(t *testing.T, path string) net.Listener {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	ln, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}
