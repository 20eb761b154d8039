//go:build linux

package e2e

import (
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// C66, C64
func TestStopIsToldBeforeClientsAreRefusedAndThenDrains(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s, admin, addr := startAdmin(t, "shutdown_delay: 1500ms\nshutdown_timeout: 2s\n", noCheck, b.Addr)
	admin.AwaitReady()
	conns := idleSessions(t, 3, addr)
	begin := time.Now()
	s.Signal(syscall.SIGTERM)
	parts.Eventually(t, time.Second, "/readyz is 503", func() bool {
		status, _ := admin.Get("/readyz")
		return status == http.StatusServiceUnavailable
	})
	t.Logf("/readyz said no after %v", time.Since(begin))
	late := parts.Dial(t, addr)
	parts.Echoes(t, late, "clients are still served")
	if len(s.Log.All(parts.Match{Msg: "draining"})) > 0 {
		t.Fatal("the drain began before the delay was over, or this machine is too slow for this test")
	}
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "draining"})
	elapsed(t, "the delay", begin, 1400*time.Millisecond, 4*time.Second)
	parts.Eventually(t, time.Second, "new clients are refused", func() bool {
		c, err := parts.TryDial("", addr)
		if err == nil {
			_ = c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	if status, _ := admin.Get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz is %d in the drain", status)
	}
	if status, _ := admin.Do(http.MethodPut, "/api/v1/services/s/backends/b1/admin", `{"state": "drain"}`); status != http.StatusServiceUnavailable {
		t.Errorf("a change in the drain: %d, want 503", status)
	}
	for _, c := range append(conns, late) {
		parts.Echoes(t, c, "sessions go on")
	}
	s.ExpectExit(t, parts.Patience, 0)
	for _, c := range append(conns, late) {
		if end := parts.Ends(t, c, time.Second); end != parts.EndReset {
			t.Errorf("a session was ended by %v, want a reset", end)
		}
	}
	if r := s.Log.Await(t, time.Second, 1, parts.Match{Msg: "stopped"}); r.Get("forced") != "4" {
		t.Errorf("4 sessions were forced, the record says: %s", r.Raw)
	}
}

// C64
func TestSecondSignalEndsTheDelayToo(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s, admin, addr := startAdmin(t, "shutdown_delay: 30s\nshutdown_timeout: 30s\n", noCheck, b.Addr)
	admin.AwaitReady()
	c := idleSessions(t, 1, addr)[0]
	s.Signal(syscall.SIGTERM)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "not ready"})
	begin := time.Now()
	s.Signal(syscall.SIGTERM)
	s.ExpectExit(t, parts.Patience, 0)
	elapsed(t, "the end", begin, 0, 3*time.Second)
	parts.Ends(t, c, time.Second)
}

// The sessions of a service that a reload has removed have their time in a stop as well.
func TestStopWaitsForSessionsOfARemovedService(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	gone := "  - {name: gone, listen: \"127.0.0.1:0\", drain_timeout: 1m, check: {type: none}, backends: [\"" + b.Addr + "\"]}\n"
	s := run(t, "shutdown_timeout: 30s\n"+adminKey+service(noCheck, b.Addr)+gone)
	admin := s.Admin(t)
	c := idleSessions(t, 1, s.Addr(t, "gone"))[0]
	reload(t, s, admin, "shutdown_timeout: 30s\n"+adminKey+service(noCheck, b.Addr), 0)
	s.Signal(syscall.SIGTERM)
	s.Log.Await(t, parts.Patience, 2, parts.Match{Msg: "draining"})
	parts.Pause(300 * time.Millisecond)
	parts.Echoes(t, c, "still here")
	_ = c.Close()
	s.ExpectExit(t, parts.Patience, 0)
}
