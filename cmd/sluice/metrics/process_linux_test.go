package metrics

import (
	"os"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// gathered returns the first value of each family of Go and the process.
func gathered(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	all, err := m.runtime.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, f := range all {
		for _, v := range values(&dto.MetricFamily{Metric: f.Metric[:1]}) {
			out[f.GetName()] = v
		}
	}
	return out
}

func TestTheProcessIsToldAsTheKernelSeesIt(t *testing.T) {
	got := gathered(t, with())
	if rss, virtual := got["process_resident_memory_bytes"], got["process_virtual_memory_bytes"]; rss < 1<<20 || virtual < rss {
		t.Errorf("%v bytes resident of %v", rss, virtual)
	}
	if start, now := got["process_start_time_seconds"], float64(time.Now().Unix()); start < now-24*3600 || start > now+60 {
		t.Errorf("started at %v, it is %v", start, now)
	}
	if _, ok := got["process_cpu_seconds_total"]; !ok {
		t.Error("no CPU time")
	}
}

func TestOpenDescriptorsAreToldWhereTheKernelCountsThem(t *testing.T) {
	dir, err := os.Stat("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	m := with()
	before, told := gathered(t, m)["process_open_fds"]
	if counts := dir.Size() > 0; told != counts {
		t.Fatalf("told: %v; the kernel counts: %v", told, counts)
	}
	if !told {
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	// Not exactly two: the runtime may open one for its poller meanwhile.
	if after := gathered(t, m)["process_open_fds"]; after < before+2 {
		t.Errorf("%v descriptors, %v before a pipe", after, before)
	}
}
