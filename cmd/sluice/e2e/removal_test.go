//go:build linux

package e2e

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// C68
func TestBackendThatAReloadRemovesDrainsAndIsThenReset(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	keys := noCheck + "drain_timeout: 2s\n"
	s, admin, addr := startAdmin(t, "", keys+"balance: first", addrs...)
	mark := sessionsByBackend(t, 5, addr)["b1"]
	if len(mark) != 5 {
		t.Fatalf("%d sessions on the first backend, want 5", len(mark))
	}
	begin := time.Now()
	reload(t, s, admin, adminKey+service(keys+"balance: first", `{address: "`+addrs[1]+`", name: b2}`), 1)
	if b, ok := admin.Backend("b1"); !ok || !b.Leaving || b.Usable || b.Sessions != 5 {
		t.Errorf("the API says of the removed backend: %+v (%v)", b, ok)
	}
	if out := admin.MustCtl("status"); !strings.Contains(out, "leaving") {
		t.Errorf("`sluice status` does not show that it leaves:\n%s", out)
	}
	labels := []string{`service="s"`, `backend="b1"`}
	if m := admin.Metrics(); m.Value("sluice_sessions_active", labels...) != 5 {
		t.Error("its sessions are gone from the metrics")
	} else if _, n := m.Sum("sluice_backend_up", labels...); n != 0 {
		t.Error("an alert on sluice_backend_up would fire for it")
	}
	for range 4 {
		if got := whoNow(t, "", addr); got != "b2" {
			t.Errorf("a new session went to %s", got)
		}
	}
	for _, c := range mark {
		parts.Echoes(t, c, "goes on")
	}
	for _, c := range mark {
		if end := parts.Ends(t, c, parts.Patience); end != parts.EndReset {
			t.Errorf("a session was ended by %v, want a reset", end)
		}
	}
	elapsed(t, "the drain", begin, 1900*time.Millisecond, 6*time.Second)
	admin.AwaitService(parts.Patience, "s", "the backend is gone", func(v parts.ServiceView, _ bool) bool { return len(v.Backends) == 1 })
	if _, n := admin.Metrics().Sum("sluice_sessions_active", labels...); n != 0 {
		t.Error("the metrics still have it")
	}
	r := s.Log.Await(t, parts.Patience, 5, parts.Match{Msg: "session", Fields: parts.Fields{"backend": "b1"}})
	if end := why(r); end != "drain" {
		t.Errorf("the sessions ended for %q, want drain: %s", end, r.Raw)
	}
}

// why is the reason of a session's end.
func why(r parts.Record) string {
	end, _ := r.Fields["end"].(map[string]any)
	text, _ := end["why"].(string)
	return text
}

// C68
func TestServiceThatAReloadRemovesDrainsAndIsThenReset(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	gone := "  - {name: gone, listen: \"127.0.0.1:0\", drain_timeout: 2s, check: {type: none}, backends: [{address: \"" + b.Addr + "\", name: b1}]}\n"
	s := run(t, adminKey+service(noCheck, b.Addr)+gone)
	admin := s.Admin(t)
	addr := s.Addr(t, "gone")
	conns := idleSessions(t, 2, addr)
	reload(t, s, admin, adminKey+service(noCheck, b.Addr), 1)
	if v, ok := admin.Service("gone"); !ok || !v.Leaving || v.Sessions != 2 {
		t.Errorf("the API says of the removed service: %+v (%v)", v, ok)
	}
	var one parts.ServiceView
	admin.Must(200, "GET", "/api/v1/services/gone", "", &one)
	if !one.Leaving {
		t.Errorf("asked for by name: %+v", one)
	}
	if c, err := parts.TryDial("", addr); err == nil {
		_ = c.Close()
		t.Error("its listener still accepts")
	}
	for _, c := range conns {
		parts.Echoes(t, c, "goes on")
	}
	if out := admin.MustCtl("sessions", "gone"); strings.Count(out, "gone") < 2 {
		t.Errorf("its sessions are not listed:\n%s", out)
	}
	_ = conns[0].Close()
	if end := parts.Ends(t, conns[1], parts.Patience); end != parts.EndReset {
		t.Errorf("a session was ended by %v, want a reset", end)
	}
	admin.AwaitService(parts.Patience, "gone", "the service is gone", func(_ parts.ServiceView, ok bool) bool { return !ok })
}

// C71
func TestMaintAndKillEndTheSessionsOfOneBackend(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, admin, addr := startAdmin(t, "", noCheck, addrs...)
	on := sessionsByBackend(t, 100, addr)
	if len(on["b1"]) != 50 || len(on["b2"]) != 50 {
		t.Fatalf("sessions: %d and %d", len(on["b1"]), len(on["b2"]))
	}
	admin.MustCtl("maint", "s/b1")
	begin := time.Now()
	if out := admin.MustCtl("kill", "s/b1", "--yes"); !strings.Contains(out, "50 sessions") {
		t.Errorf("the command says %q, want 50 sessions", out)
	}
	for _, c := range on["b1"] {
		if end := parts.Ends(t, c, 2*time.Second); end != parts.EndReset {
			t.Errorf("a killed session ended by %v", end)
		}
	}
	elapsed(t, "killing 50 sessions", begin, 0, 2*time.Second)
	for _, c := range on["b2"] {
		parts.Echoes(t, c, "untouched")
	}
	for range 10 {
		if got := whoNow(t, "", addr); got != "b2" {
			t.Errorf("a new session went to %s in maintenance", got)
		}
	}
	if out := admin.MustCtl("kill", "s/b1", "--yes"); !strings.Contains(out, "0 sessions") {
		t.Errorf("again: %q", out)
	}
	admin.MustCtl("ready", "s/b1")
	if got := tally(t, 10, addr); got["b1"] != 5 {
		t.Errorf("ready again, it got %v", got)
	}
}

// C72
func TestRemovalOvertakesDialsThatAreUnderWay(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"remove": {"remove", "s/b1", "--within", "1s", "--wait"},
		"drain":  {"drain", "s/b1", "--wait", "1s", "--then", "kill"},
		"maint":  {"maint", "s/b1", "--kill"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow, accept := parts.LateAccept(t, parts.Greet("b1"))
			b := parts.Serve(t, parts.Greet("b2"))
			s, admin, addr := startAdmin(t, "", noCheck+"balance: first\nconnect: {timeout: 5s}", slow, b.Addr)
			var conns [30]*net.TCPConn
			for i := range conns {
				conns[i] = parts.Dial(t, addr)
			}
			parts.Eventually(t, parts.Patience, "30 dials are under way", func() bool {
				v, _ := admin.Backend("b1")
				return v.Sessions == len(conns)
			})
			res := make(chan parts.Result, 1)
			go func() { res <- admin.Ctl(command...) }()
			parts.Eventually(t, parts.Patience, "the command has had its effect", func() bool {
				v, ok := admin.Backend("b1")
				return !ok || v.Leaving || v.Admin != "ready"
			})
			accept() // the system repeats its SYNs after a second
			served := map[string]int{}
			for _, c := range conns {
				name, _ := parts.Name(c) // "" for who was closed
				if served[name]++; name == "b1" {
					parts.Ends(t, c, parts.Patience)
				}
			}
			if r := <-res; r.Code == 1 {
				t.Errorf("the command failed: %s%s", r.Stdout, r.Stderr)
			}
			parts.Eventually(t, parts.Patience, "no socket to b1 is left", func() bool { return parts.CountTo(t, s.Pid(), slow) == 0 })
			t.Logf("served %v", served)
		})
	}
}

// A backend that leaves, or whose service does, can still be cleared by hand.
func TestSessionsOfWhatLeavesCanBeKilled(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	gone := "  - {name: gone, listen: \"127.0.0.1:0\", drain_timeout: 10m, check: {type: none}, backends: [{address: \"" + addrs[0] + "\", name: b1}]}\n"
	s := run(t, adminKey+service(noCheck, addrs...)+gone)
	admin := s.Admin(t)
	on := sessionsByBackend(t, 2, s.Addr(t, "s"))
	other := sessionsByBackend(t, 1, s.Addr(t, "gone"))["b1"][0]
	admin.MustCtl("remove", "s/b1", "--within", "10m")
	reload(t, s, admin, adminKey+service(noCheck, addrs[0], addrs[1])+gone, 0) // b1 is back, beside the one that leaves
	admin.MustCtl("remove", "s/b1", "--within", "10m")
	if out := admin.MustCtl("kill", "s/b1", "--yes"); !strings.Contains(out, "1 session") {
		t.Errorf("the command says %q", out)
	}
	parts.Ends(t, on["b1"][0], parts.Patience)
	parts.Echoes(t, on["b2"][0], "untouched")
	reload(t, s, admin, adminKey+service(noCheck, addrs...), 0)
	if out := admin.MustCtl("kill", "gone", "--yes"); !strings.Contains(out, "1 session") {
		t.Errorf("the command says %q", out)
	}
	parts.Ends(t, other, parts.Patience)
}
