//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// contractKeys are what GET /api/v1/services promises of a service, and of a backend; values are those of JSON.
var (
	serviceKeys = map[string]any{"name": "", "listen": []any{}, "balance": "", "sessions": 0.0, "backends": []any{}}
	backendKeys = map[string]any{"name": "", "address": "", "weight": 0.0, "priority": 0.0, "health": "", "ejected": false, "admin": "",
		"usable": false, "sessions": 0.0, "total": 0.0, "reason": "", "since": ""}
)

// mustHave fails the test unless object has each key with a value of that type.
func mustHave(t *testing.T, object any, keys map[string]any) {
	t.Helper()
	m, _ := object.(map[string]any)
	for key, like := range keys {
		if got, ok := m[key]; !ok || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", like) {
			t.Errorf("%q is %T(%v), want a %T, in %v", key, got, got, like, m)
		}
	}
}

func TestServicesOfTheAPIHaveTheShapeThatIsPromised(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, admin, addr := startAdmin(t, "", fastCheck, addrs...)
	admin.AwaitReady()
	awaitUsable(t, admin, "b2")
	whoNow(t, "", addr)
	status, text := admin.Get("/api/v1/services")
	var list []any
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK || len(list) != 1 {
		t.Fatalf("%d, %v: %s", status, err, text)
	}
	mustHave(t, list[0], serviceKeys)
	s := list[0].(map[string]any)
	if listen := s["listen"].([]any); len(listen) != 1 || listen[0] != addr {
		t.Errorf("it listens on %v, and says %v", addr, listen)
	}
	backends := s["backends"].([]any)
	if len(backends) != 2 {
		t.Fatalf("%d backends", len(backends))
	}
	for _, b := range backends {
		mustHave(t, b, backendKeys)
		m := b.(map[string]any)
		if m["health"] != "up" || m["admin"] != "ready" || m["usable"] != true {
			t.Errorf("a healthy backend: %v", m)
		}
	}
}

func TestMetricsHaveTheNamesThatArePromised(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	_, port, _ := net.SplitHostPort(b.Addr)
	probed := strings.Replace(fastCheck, "type: tcp", "type: tcp, port: "+port, 1) // the other one passes too
	_, admin, addr := startAdmin(t, "", probed+"balance: first", parts.RefusedAddr(t), b.Addr)
	whoNow(t, "", addr)
	admin.AwaitReady()
	m := admin.Metrics()
	names := m.Names("sluice_")
	for _, want := range []string{"sluice_sessions_total", "sluice_sessions_active", "sluice_bytes_total", "sluice_dial_failures_total",
		"sluice_retries_total", "sluice_backend_up", "sluice_probe_duration_seconds_bucket", "sluice_connect_duration_seconds_bucket"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		} else if _, n := m.Sum(want, `service="s"`, `backend="`); n == 0 {
			t.Errorf("%s is without the labels service and backend", want)
		}
	}
	if _, n := m.Sum("sluice_refused_total", `service="s"`, `reason="`); n == 0 {
		t.Error("sluice_refused_total is missing")
	}
}

func TestOperatorsChangeBackendsByTheAPI(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 3)
	s, admin, addr := startAdmin(t, "", fastCheck, addrs[:2]...)
	s.AwaitUp(t, "b1", "b2")
	const backends = "/api/v1/services/s/backends"
	for _, state := range []string{"drain", "maint", "ready"} {
		var b parts.BackendView
		admin.Must(http.StatusOK, http.MethodPut, backends+"/b1/admin", `{"state": "`+state+`"}`, &b)
		if b.Admin != state || b.Name != "b1" {
			t.Errorf("after %s the answer is %+v", state, b)
		}
		if got := tally(t, 4, addr); state != "ready" && got["b1"] > 0 {
			t.Errorf("in %s it had sessions: %v", state, got)
		}
	}
	admin.Must(http.StatusBadRequest, http.MethodPut, backends+"/b1/admin", `{"state": "off"}`, nil)
	admin.Must(http.StatusNotFound, http.MethodPut, backends+"/b9/admin", `{"state": "drain"}`, nil)
	admin.Must(http.StatusCreated, http.MethodPost, backends, `{"address": "`+addrs[2]+`", "name": "b3"}`, nil)
	admin.Must(http.StatusConflict, http.MethodPost, backends, `{"address": "`+addrs[2]+`", "name": "b3"}`, nil)
	awaitUsable(t, admin, "b3")
	if got := tally(t, 12, addr); got["b3"] == 0 {
		t.Errorf("the new backend has no sessions: %v", got)
	}
	admin.Must(http.StatusOK, http.MethodDelete, backends+"/b1", "", nil)
	admin.Must(http.StatusNotFound, http.MethodDelete, backends+"/b1", "", nil)
	if got := tally(t, 12, addr); got["b1"] > 0 {
		t.Errorf("the removed backend has sessions: %v", got)
	}
}

func TestChangeByWhoHasSeenAnOlderRevisionIsRefused(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, admin, _ := startAdmin(t, "", noCheck, addrs...)
	put := func(state, revision string) int {
		status, _ := admin.Do(http.MethodPut, "/api/v1/services/s/backends/b1/admin", `{"state": "`+state+`"}`, "If-Match: "+revision)
		return status
	}
	if a, b := put("drain", `"1"`), put("maint", `"1"`); a != http.StatusOK || b != http.StatusPreconditionFailed {
		t.Errorf("two changes with one revision: %d and %d, want 200 and 412", a, b)
	}
	if v, _ := admin.Backend("b1"); v.Admin != "drain" {
		t.Errorf("the late one was made: %+v", v)
	}
}

func TestReadyzIsNotReadyBeforeTheFirstProbes(t *testing.T) {
	t.Parallel()
	silent := parts.Blackhole(t)
	b := parts.Serve(t, parts.Greet("b1"))
	s, admin, addr := startAdmin(t, "", "check: {type: tcp, interval: 1s, timeout: 1500ms}", silent, b.Addr)
	if status, text := admin.Get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "probes") {
		t.Errorf("before the first probes have ended: %d %s", status, text)
	}
	if status, _ := admin.Get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz is %d", status)
	}
	s.AwaitUp(t, "b2")
	whoNow(t, "", addr) // it serves all the same
	admin.AwaitReady()
	admin.MustCtl("drain", "s", "--all")
	if status, _ := admin.Get("/readyz"); status != http.StatusOK {
		t.Errorf("without a usable backend /readyz is %d", status)
	}
	if status, text := admin.Get("/readyz?usable"); status != http.StatusServiceUnavailable || !strings.Contains(text, "s") {
		t.Errorf("without a usable backend /readyz?usable is %d %s", status, text)
	}
}

// C92. Serial: it fills a table of descriptors and looks at what is left.
func TestReadyzFailsAtTheFileLimitAndTheAPIStillAnswers(t *testing.T) {
	b := parts.Serve(t, parts.Greet("b1"))
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: adminKey + service(noCheck, b.Addr),
		Wrap: []string{parts.Find(t, "prlimit", "util-linux"), "--nofile=64:64"}})
	admin, addr := s.Admin(t), s.Addr(t, "s")
	admin.AwaitReady()
	conns, served := crowd(60, addr)
	defer closeAll(conns)
	if len(served) < 5 {
		t.Fatalf("only %d clients are served", len(served))
	}
	for range 3 {
		if status, text := admin.Get("/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("full, /readyz is %d %s", status, text)
		}
		for _, path := range []string{"/healthz", "/api/v1/services", "/api/v1/status", "/metrics"} {
			if status, text := admin.Get(path); status != http.StatusOK {
				t.Errorf("full, %s is %d %s", path, status, text)
			}
		}
		admin.MustCtl("status")
	}
	if m := admin.Metrics(); m.Value("sluice_shed_total") == 0 || m.Value("sluice_ready") != 0 {
		t.Errorf("the metrics do not tell: shed %v, ready %v", m.Value("sluice_shed_total"), m.Value("sluice_ready"))
	}
	closeAll(conns)
	admin.AwaitReady()
	whoNow(t, "", addr)
}
