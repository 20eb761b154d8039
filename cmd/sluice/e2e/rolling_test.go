//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// Serial: it offers load.
func TestRollingRestartBehindDrainCostsNoRequest(t *testing.T) {
	var servers []*parts.Nginx
	var addrs []string
	for i := range 3 {
		n := parts.NginxHTTP(t, fmt.Sprintf("b%d", i+1), false)
		servers, addrs = append(servers, n), append(addrs, n.Addr)
	}
	s, admin, addr := startAdmin(t, "", "check: {type: http, path: /, interval: 200ms}", addrs...)
	s.AwaitUp(t, "b1", "b2", "b3")
	clients := newSteady(t)
	clients.clients(6, "short client", func() error { _, _, err := parts.HTTPGet("", addr); return err })
	for range 6 {
		k := &keepAlive{addr: addr}
		clients.clients(1, "keep-alive client", k.ask)
	}
	for i, n := range servers {
		name := fmt.Sprintf("s/b%d", i+1)
		clients.more(100)
		out := admin.MustCtl("drain", name, "--wait", "30s")
		if !strings.Contains(out, name+": drained") {
			t.Errorf("drain says %q", out)
		}
		if b, _ := admin.Backend(name[2:]); b.Sessions != 0 || b.Admin != "drain" {
			t.Errorf("after the drain: %+v", b)
		}
		n.Kill()
		clients.more(100)
		n.Start(t)
		admin.MustCtl("ready", name)
		awaitUsable(t, admin, name[2:])
	}
	clients.more(100)
	t.Logf("%d requests", clients.stop())
	for i := range servers {
		awaitServes(t, addr, fmt.Sprintf("b%d ", i+1))
	}
}

// awaitUsable waits until new sessions may go to a backend.
func awaitUsable(t *testing.T, admin *parts.Admin, name string) {
	t.Helper()
	parts.Eventually(t, parts.Patience, name+" is usable", func() bool {
		b, ok := admin.Backend(name)
		return ok && b.Usable
	})
}

// awaitServes waits until a request is answered by the server whose answers begin so.
func awaitServes(t *testing.T, addr, begin string) {
	t.Helper()
	parts.Eventually(t, parts.Patience, begin+"serves", func() bool {
		body, _, err := parts.HTTPGet("", addr)
		return err == nil && strings.HasPrefix(body, begin)
	})
}

func TestDrainTellsByItsExitStatusWhatItCost(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, admin, addr := startAdmin(t, "", noCheck+"balance: first", addrs...)
	conns := sessionsByBackend(t, 3, addr)["b1"]
	drain := func(want int, says string, args ...string) {
		t.Helper()
		res := admin.Ctl(append([]string{"drain", "s/b1"}, args...)...)
		if res.Code != want || !strings.Contains(res.Stdout+res.Stderr, says) {
			t.Errorf("drain %v: exit %d, want %d and %q:\n%s%s", args, res.Code, want, says, res.Stdout, res.Stderr)
		}
	}
	drain(0, "3 sessions")
	drain(1, "3 sessions", "--wait", "300ms")
	parts.Echoes(t, conns[0], "sessions go on")
	drain(2, "needs --wait", "--then", "kill")
	_ = conns[2].Close()
	parts.Eventually(t, parts.Patience, "two are left", func() bool { b, _ := admin.Backend("b1"); return b.Sessions == 2 })
	drain(2+2, "2 sessions of s/b1 killed", "--wait", "300ms", "--then", "kill")
	for _, c := range conns[:2] {
		if end := parts.Ends(t, c, parts.Patience); end != parts.EndReset {
			t.Errorf("a session was ended by %v, want a reset", end)
		}
	}
	drain(0, "drained", "--wait", "10s", "--then", "kill")
	if got := whoNow(t, "", addr); got != "b2" {
		t.Errorf("a new client got %s", got)
	}
}
