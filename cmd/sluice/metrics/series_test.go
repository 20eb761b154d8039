package metrics

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestDurationsAreToldOfBackendsThatHaveAHandle(t *testing.T) {
	m := with(redis())
	m.Connect("redis", "b1").Observe(2 * time.Millisecond)
	m.Probe("redis", "b2").Observe(3 * time.Second)
	all := scrape(t, m)
	for name, want := range map[string]string{
		"sluice_connect_duration_seconds": "backend=b1,service=redis", "sluice_probe_duration_seconds": "backend=b2,service=redis",
	} {
		f := all[name].GetMetric()
		if len(f) != 1 || labels(f[0]) != want || f[0].Histogram.GetSampleCount() != 1 {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestSeriesOfBackendsThatAreNotListedAreNotTold(t *testing.T) {
	m := with(redis())
	m.Connect("redis", "gone").Observe(time.Second)
	if f := scrape(t, m)["sluice_connect_duration_seconds"]; f != nil {
		t.Errorf("told: %v", f)
	}
}

func TestAForgottenBackendStartsAnew(t *testing.T) {
	m := with(redis())
	old := m.Connect("redis", "b1")
	m.Probe("redis", "b1")
	old.Observe(time.Second)
	m.Forget("redis", "b1")
	old.Observe(time.Second) // a late one does no harm
	if len(m.series) != 0 {
		t.Errorf("%d series left", len(m.series))
	}
	if p50, _ := m.ConnectQuantiles("redis", "b1"); p50 != 0 {
		t.Errorf("median %v", p50)
	}
	m.Connect("redis", "b1").Observe(time.Second)
	if n := scrape(t, m)["sluice_connect_duration_seconds"].Metric[0].Histogram.GetSampleCount(); n != 1 {
		t.Errorf("%d dials, not 1", n)
	}
	m.Forget("redis", "never was")
}

func TestTheSuccessorOfABackendKeepsTheSeriesWhenTheOldOneIsForgotten(t *testing.T) {
	m := with(redis())
	old := m.Connect("redis", "b1")
	succ := m.Connect("redis", "b1")
	old.Observe(time.Second)
	m.Forget("redis", "b1")
	succ.Observe(time.Second)
	if n := scrape(t, m)["sluice_connect_duration_seconds"].Metric[0].Histogram.GetSampleCount(); n != 2 {
		t.Errorf("%d dials, not 2", n)
	}
	m.Forget("redis", "b1")
	if len(m.series) != 0 {
		t.Errorf("%d series left", len(m.series))
	}
}

func TestBackendsComeAndGoWhileLoopsCountAndScrapesRun(t *testing.T) {
	const backends, rounds = 8, 100
	svc := api.Service{Name: "s"}
	for i := range backends {
		svc.Backends = append(svc.Backends, api.Backend{Name: fmt.Sprint(i)})
	}
	m := with(svc)
	var wg sync.WaitGroup
	for i := range backends {
		name := fmt.Sprint(i)
		wg.Go(func() {
			for range rounds {
				connect, probe := m.Connect("s", name), m.Probe("s", name)
				for d := time.Microsecond; d < time.Minute; d *= 3 {
					connect.Observe(d)
					probe.Observe(d)
				}
				m.ConnectQuantiles("s", name)
				m.Forget("s", name)
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 20 {
				if _, err := m.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(m.series) != 0 {
		t.Errorf("%d series left", len(m.series))
	}
}

func TestNothingIsLostWhenLoopsCountAtOnce(t *testing.T) {
	const loops, each = 8, 2000
	m := with(redis())
	h := m.Connect("redis", "b1")
	var wg sync.WaitGroup
	for range loops {
		wg.Go(func() {
			for i := range each {
				h.Observe(time.Duration(i) * time.Microsecond)
			}
		})
	}
	wg.Go(func() {
		before := uint64(0)
		for range 50 {
			if n := written(h).GetSampleCount(); n < before {
				t.Errorf("the count fell from %d to %d", before, n)
			} else {
				before = n
			}
		}
	})
	wg.Wait()
	if n := written(h).GetSampleCount(); n != loops*each {
		t.Errorf("%d counted, not %d", n, loops*each)
	}
}
