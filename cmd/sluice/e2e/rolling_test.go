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
