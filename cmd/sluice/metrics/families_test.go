package metrics

import (
	"maps"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestEveryValueIsToldUnderItsName(t *testing.T) {
	all := scrape(t, with(redis()))
	b1, b2 := "backend=b1,service=redis", "backend=b2,service=redis"
	for name, want := range map[string]map[string]float64{
		"sluice_sessions_total":  {b1: 100, b2: 0},
		"sluice_sessions_active": {b1: 4, b2: 0},
		"sluice_retries_total":   {b1: 5, b2: 0},
		"sluice_backend_up":      {b1: 1, b2: 0},
		"sluice_backend_usable":  {b1: 1, b2: 0},
		"sluice_backend_weight":  {b1: 3, b2: 1},
		"sluice_backend_state":   {b1 + ",state=up": 1, b2 + ",state=down": 1},
		"sluice_bytes_total": {
			"backend=b1,direction=to_backend,service=redis": 1000, "backend=b1,direction=to_client,service=redis": 2000,
			"backend=b2,direction=to_backend,service=redis": 0, "backend=b2,direction=to_client,service=redis": 0,
		},
		"sluice_dial_failures_total": {"backend=b1,reason=refused,service=redis": 6, "backend=b1,reason=timeout,service=redis": 7},
		"sluice_refused_total": {
			"reason=denied,service=redis": 3, "reason=no-backend,service=redis": 2, "reason=limit-rate,service=redis": 8,
			"reason=connect-failed,service=redis": 0,
		},
		"sluice_session_ends_total": {"service=redis,why=eof": 90, "service=redis,why=reset": 4},
		"sluice_held":               {"service=redis": 2},
		"sluice_paused":             {"service=redis": 0},
		"sluice_backends":           {"service=redis": 2},
		"sluice_backends_usable":    {"service=redis": 1},

		"sluice_build_info":                           {"goversion=" + runtime.Version() + ",version=v1.2.3": 1},
		"sluice_start_time_seconds":                   {"": 1_700_000_000},
		"sluice_ready":                                {"": 1},
		"sluice_draining":                             {"": 0},
		"sluice_revision":                             {"": 7},
		"sluice_config_reloads_total":                 {"result=applied": 2, "result=refused": 1},
		"sluice_config_last_reload_timestamp_seconds": {"": 1_700_003_600},
		"sluice_config_last_reload_successful":        {"": 0},
		"sluice_descriptors_limit":                    {"": 1024},
		"sluice_sessions_limit":                       {"": 400},
		"sluice_shed_total":                           {"": 5},
		"sluice_log_records_dropped_total":            {"": 3},
	} {
		if got := values(all[name]); !maps.Equal(got, want) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
}

func TestOnlyABackendThatPassesItsCheckAndIsReadyIsUp(t *testing.T) {
	for _, c := range []struct {
		health  string
		ejected bool
		admin   string
		want    float64
	}{
		{"up", false, api.Ready, 1},
		{"up", true, api.Ready, 0},
		{"up", false, api.Drain, 0},
		{"up", false, api.Maint, 0},
		{"down", false, api.Ready, 0},
		{"unknown", false, api.Ready, 0},
	} {
		b := api.Backend{Name: "b", Health: c.health, Ejected: c.ejected, Admin: c.admin, Usable: true}
		all := scrape(t, with(api.Service{Name: "s", Backends: []api.Backend{b}}))
		if got := values(all["sluice_backend_up"])["backend=b,service=s"]; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestCountersAreThereBeforeTheyCount(t *testing.T) {
	m := with(api.Service{Name: "s", Backends: []api.Backend{{Name: "b"}}})
	m.Connect("s", "b")
	m.Probe("s", "b")
	all := scrape(t, m)
	for name, want := range map[string]int{
		"sluice_sessions_total": 1, "sluice_bytes_total": 2, "sluice_retries_total": 1, "sluice_refused_total": 2,
		"sluice_session_ends_total": 1, "sluice_config_reloads_total": 2, "sluice_dial_failures_total": 0,
		"sluice_connect_duration_seconds": 1, "sluice_probe_duration_seconds": 1,
	} {
		if got := len(all[name].GetMetric()); got != want {
			t.Errorf("%s has %d samples, not %d", name, got, want)
		}
	}
}

func TestAReloadThatNeverWasIsTheStart(t *testing.T) {
	m := New(Config{Services: func() []api.Service { return nil }, Status: func() api.Status { return api.Status{Started: started} }})
	all := scrape(t, m)
	if got := values(all["sluice_config_last_reload_timestamp_seconds"])[""]; got != 1_700_000_000 {
		t.Errorf("timestamp %v", got)
	}
	if got := values(all["sluice_config_last_reload_successful"])[""]; got != 1 {
		t.Errorf("successful %v", got)
	}
}

func TestNamesAndHelpAreAsPrometheusWantsThem(t *testing.T) {
	problems, err := testutil.GatherAndLint(full())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// full returns metrics in which every family has a sample.
func full() *Metrics {
	paused, svc := api.Duration(time.Minute), redis()
	svc.Paused = &paused
	m := with(svc)
	m.Connect("redis", "b1").Observe(time.Millisecond)
	m.Probe("redis", "b1").Observe(time.Millisecond)
	return m
}

func TestEveryFamilyOfAFullScrapeIsThereOnce(t *testing.T) {
	all, err := full().Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	for i, f := range all {
		seen[f.GetName()]++
		if i > 0 && all[i-1].GetName() >= f.GetName() {
			t.Errorf("%s comes after %s", f.GetName(), all[i-1].GetName())
		}
	}
	for _, f := range families() {
		if seen[f.name] != 1 {
			t.Errorf("%s is there %d times", f.name, seen[f.name])
		}
	}
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if seen[name] == 0 {
			t.Errorf("%s is not there", name)
		}
	}
}
