package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestABackendThatLeavesAndItsSuccessorAreOneSeries(t *testing.T) {
	old := api.Backend{Name: "b", Weight: 1, Health: "up", Admin: api.Ready, Leaving: true, Sessions: 2, Total: 50, Retries: 1,
		BytesToBackend: 10, BytesToClient: 20, DialFailures: map[string]int64{"refused": 1}}
	succ := api.Backend{Name: "b", Weight: 9, Health: "up", Admin: api.Ready, Usable: true, Sessions: 1, Total: 5, Retries: 2,
		BytesToBackend: 1, BytesToClient: 2, DialFailures: map[string]int64{"refused": 1, "timeout": 4}}
	for _, order := range [][]api.Backend{{old, succ}, {succ, old}} {
		all := scrape(t, with(api.Service{Name: "s", Backends: order}))
		for name, want := range map[string]float64{
			"sluice_sessions_total": 55, "sluice_sessions_active": 3, "sluice_retries_total": 3,
			"sluice_backend_up": 1, "sluice_backend_weight": 9, "sluice_backend_usable": 1,
		} {
			if got := values(all[name]); !maps.Equal(got, map[string]float64{"backend=b,service=s": want}) {
				t.Errorf("%s: %v, not %v", name, got, want)
			}
		}
		if got := values(all["sluice_dial_failures_total"])["backend=b,reason=refused,service=s"]; got != 2 {
			t.Errorf("%v dials refused", got)
		}
		if got := values(all["sluice_bytes_total"])["backend=b,direction=to_client,service=s"]; got != 22 {
			t.Errorf("%v bytes to clients", got)
		}
		if got := values(all["sluice_backends"])["service=s"]; got != 1 {
			t.Errorf("%v backends", got)
		}
	}
	if old.DialFailures["refused"] != 1 || len(old.DialFailures) != 1 {
		t.Error("the caller's counters were changed")
	}
}

func TestAServiceThatLeavesAndItsSuccessorAreOneSeries(t *testing.T) {
	old := api.Service{Name: "s", Leaving: true, Held: 1, Ended: map[string]int64{"eof": 5, "denied": 1}, Backends: []api.Backend{{Name: "b", Total: 3}, {Name: "c", Total: 1}}}
	succ := api.Service{Name: "s", Held: 2, Usable: 1, Ended: map[string]int64{"eof": 6}, Backends: []api.Backend{{Name: "b", Usable: true, Total: 4}}}
	for _, order := range [][]api.Service{{old, succ}, {succ, old}} {
		all := scrape(t, with(order...))
		for name, want := range map[string]map[string]float64{
			"sluice_held":               {"service=s": 3},
			"sluice_backends":           {"service=s": 1},
			"sluice_backends_usable":    {"service=s": 1},
			"sluice_session_ends_total": {"service=s,why=eof": 11},
			"sluice_sessions_total":     {"backend=b,service=s": 7, "backend=c,service=s": 1},
			"sluice_backend_usable":     {"backend=b,service=s": 1},
		} {
			if got := values(all[name]); !maps.Equal(got, want) {
				t.Errorf("%s: %v, not %v", name, got, want)
			}
		}
	}
}

func TestABackendThatLeavesHasSessionsButNoState(t *testing.T) {
	all := scrape(t, with(api.Service{Name: "s", Backends: []api.Backend{{Name: "b", Leaving: true, Sessions: 2, Health: "down", State: "removed"}}}))
	if got := values(all["sluice_sessions_active"])["backend=b,service=s"]; got != 2 {
		t.Errorf("%v sessions", got)
	}
	for _, name := range []string{"sluice_backend_up", "sluice_backend_usable", "sluice_backend_weight", "sluice_backend_state"} {
		if f := all[name]; f != nil {
			t.Errorf("%s is told: %v", name, f)
		}
	}
}

func TestNamesCannotBreakAScrape(t *testing.T) {
	names := []string{`quo"te`, `back\slash`, "ünïcode", "bad\xff", "bad\xfe", "new\nline", "{}", ""}
	var backends []api.Backend
	for _, n := range names {
		backends = append(backends, api.Backend{Name: n, Total: 1})
	}
	m := with(api.Service{Name: `s"\`, Backends: backends})
	for _, n := range names {
		m.Connect(`s"\`, n).Observe(time.Second)
	}
	got := values(scrape(t, m)["sluice_sessions_total"])
	want := map[string]float64{"bad\uFFFD": 2} // the two cannot be told apart
	for _, n := range names {
		if !bytes.Contains([]byte(n), []byte("bad")) {
			want[n] = 1
		}
	}
	for n, v := range want {
		if got[fmt.Sprintf(`backend=%s,service=s"\`, n)] != v {
			t.Errorf("%q is not told as %v: %v", n, v, got)
		}
	}
}

func TestAScrapeAsksOnceForEverything(t *testing.T) {
	var asked []string
	m := New(Config{
		Services: func() []api.Service { asked = append(asked, "services"); return []api.Service{redis()} },
		Status:   func() api.Status { asked = append(asked, "status"); return status() },
	})
	scrape(t, m)
	if slices.Sort(asked); !slices.Equal(asked, []string{"services", "status"}) {
		t.Errorf("asked for %v", asked)
	}
}
