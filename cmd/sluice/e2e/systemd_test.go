//go:build linux

package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// manager is the service manager's end of sd_notify(3).
type manager struct {
	t    *testing.T
	path string
	conn *net.UnixConn
	said []string
}

func listenAsManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(parts.TempDir(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &manager{t: t, path: path, conn: conn}
}

// hears reads until a message has a line that begins so, and returns that message.
func (m *manager) hears(line string) string {
	m.t.Helper()
	buf := make([]byte, 4096)
	_ = m.conn.SetReadDeadline(time.Now().Add(parts.Patience))
	for {
		n, err := m.conn.Read(buf)
		if err != nil {
			m.t.Fatalf("not told %q (%v), but %q", line, err, m.said)
		}
		text := string(buf[:n])
		m.said = append(m.said, text)
		if slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return strings.HasPrefix(l, line) }) {
			return text
		}
	}
}

func TestServiceManagerIsToldOfEachStep(t *testing.T) {
	t.Parallel()
	m := listenAsManager(t)
	b := parts.Serve(t, parts.Echo)
	addr := parts.FreeAddr(t)
	yaml := "shutdown_timeout: 20s\n" + adminKey + service(noCheck+"listen: "+addr, b.Addr)
	s := parts.RunSluice(t, parts.Config{Binary: binary(t), YAML: yaml, Env: []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=400000"}})
	m.hears("READY=1")
	if len(m.said) != 1 {
		t.Errorf("before READY=1: %q", m.said)
	}
	if !parts.Listening(addr) {
		t.Error("READY=1 came before the listener was bound")
	}
	c := parts.Dial(t, addr)
	parts.Echoes(t, c, "it serves")
	for range 3 {
		m.hears("WATCHDOG=1")
	}
	s.Signal(syscall.SIGHUP)
	if text := m.hears("RELOADING=1"); !strings.Contains(text, "MONOTONIC_USEC=") {
		t.Errorf("a reload without its time: %q", text)
	}
	m.hears("READY=1")
	s.Rewrite(t, "services: 1\n")
	s.Signal(syscall.SIGHUP)
	m.hears("RELOADING=1")
	m.hears("READY=1") // or the manager waits for ever
	s.Signal(syscall.SIGTERM)
	m.hears("STOPPING=1")
	for range 3 { // a drain is alive
		m.hears("WATCHDOG=1")
	}
	_ = c.Close()
	s.ExpectExit(t, parts.Patience, 0)
	for _, text := range m.said {
		if strings.Contains(text, "READY=1") && strings.Contains(text, "STOPPING=1") {
			t.Errorf("told both at once: %q", text)
		}
	}
}

// passing runs sluice as systemd does with sockets: descriptors from 3 on, their names, and its own pid.
func passing(t *testing.T, yaml, names string, lns ...*net.TCPListener) *parts.Sluice {
	t.Helper()
	sh := parts.Find(t, "sh", "dash")
	c := parts.Config{Binary: binary(t), YAML: yaml, Wrap: []string{sh, "-c", `LISTEN_PID=$$ exec "$@"`, "sh"},
		Env: []string{fmt.Sprintf("LISTEN_FDS=%d", len(lns)), "LISTEN_FDNAMES=" + names}}
	for _, ln := range lns {
		f, err := ln.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c.Files = append(c.Files, f)
	}
	return parts.RunSluice(t, c)
}

func listenTCP(t *testing.T) *net.TCPListener {
	t.Helper()
	ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return ln
}

func TestPassedSocketsAreServedAndOutliveTheProcess(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	web, web2, other := listenTCP(t), listenTCP(t), listenTCP(t)
	yaml := adminKey + fmt.Sprintf(`services:
  - {name: s, listen: "fd:web", check: {type: none}, backends: [{address: "%s", name: b1}]}
  - {name: o, listen: "fd:other", check: {type: none}, backends: [{address: "%s", name: b2}]}
`, addrs[0], addrs[1])
	early := parts.Dial(t, web.Addr().String()) // before anybody serves it
	s := passing(t, yaml, "web:other:web:spare", web, other, web2, listenTCP(t))
	parts.Expect(t, early, "b1\n")
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "passed socket is not used", Fields: parts.Fields{"name": "spare", "listen": "fd:spare"}})
	for ln, want := range map[*net.TCPListener]string{web: "b1", web2: "b1", other: "b2"} {
		if got := whoNow(t, "", ln.Addr().String()); got != want {
			t.Errorf("%v: %s, want %s", ln.Addr(), got, want)
		}
	}
	admin := s.Admin(t)
	without := yaml[:strings.Index(yaml, "  - {name: o")]
	reload(t, s, admin, without, 0) // gives one up
	reload(t, s, admin, yaml, 1)    // and takes it again
	if got := whoNow(t, "", other.Addr().String()); got != "b2" {
		t.Errorf("after the reloads: %s", got)
	}
	s.Stop(t)
	waits := parts.Dial(t, web.Addr().String()) // nobody is refused while it restarts
	passing(t, yaml, "web:other:web", web, other, web2)
	parts.Expect(t, waits, "b1\n")
}

func TestSocketThatWasNotPassedIsAnErrorAtTheStart(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	res := parts.Command(t, binary(t), "run", "-c", file(t, service("listen: \"fd:web\"\n"+noCheck, b.Addr)))
	if res.Code != 1 || !strings.Contains(res.Stderr, "fd:web") {
		t.Errorf("exit %d, %q, want 1 and the name", res.Code, res.Stderr)
	}
}
