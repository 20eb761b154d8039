package metrics

import (
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"
)

// processCollector returns a collector of what the kernel tells of the process, by
// Prometheus' usual names. Its own one reads the name of every open descriptor on kernels
// before 6.2, which takes long with 100,000 of them; this one leaves their number out there.
func processCollector() prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &processStats{
		cpu:      desc("process_cpu_seconds_total", "Total user and system CPU time spent in seconds."),
		resident: desc("process_resident_memory_bytes", "Resident memory size in bytes."),
		virtual:  desc("process_virtual_memory_bytes", "Virtual memory size in bytes."),
		start:    desc("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
		open:     desc("process_open_fds", "Number of open file descriptors."),
	}
}

type processStats struct {
	cpu, resident, virtual, start, open *prometheus.Desc

	once    sync.Once
	started float64 // it takes a file of the machine's size to find out
}

func (p *processStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.cpu, p.resident, p.virtual, p.start, p.open} {
		ch <- d
	}
}

// Collect leaves out what cannot be read, as where /proc is not mounted.
func (p *processStats) Collect(ch chan<- prometheus.Metric) {
	self, err := procfs.Self()
	if err != nil {
		return
	}
	stat, err := self.Stat()
	if err != nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	ch <- prometheus.MustNewConstMetric(p.cpu, prometheus.CounterValue, stat.CPUTime())
	gauge(p.resident, float64(stat.ResidentMemory()))
	gauge(p.virtual, float64(stat.VirtualMemory()))
	p.once.Do(func() { p.started, _ = stat.StartTime() })
	gauge(p.start, p.started)
	// The size of the directory is the number of descriptors since Linux 6.2, 0 before.
	if dir, err := os.Stat("/proc/self/fd"); err == nil && dir.Size() > 0 {
		gauge(p.open, float64(dir.Size()))
	}
}
