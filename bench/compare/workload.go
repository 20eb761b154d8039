package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Workload is one kind of load.
type Workload string

// The workloads there are.
const (
	Connection Workload = "connection" // 32 clients: connect, one HTTP request, close
	Request    Workload = "request"    // 50 clients on kept connections, one redis PING at a time
	Request1   Workload = "request1"   // the same with one client
	Bulk1      Workload = "bulk1"      // one stream from backend to client
	Bulk8      Workload = "bulk8"      // eight
	Upload8    Workload = "upload8"    // eight from client to backend
	Latency    Workload = "latency"    // redis PING at a fixed rate
	Beside     Workload = "beside"     // 500 redis PING a second beside eight bulk streams
	Idle       Workload = "idle"       // sessions on which nothing happens
)

// Workloads are all workloads in the order in which they are measured: Idle first,
// because the others can take less time when it took more, and Latency after Request,
// from which it has its rate.
func Workloads() []Workload {
	return []Workload{Idle, Connection, Request, Request1, Bulk1, Bulk8, Upload8, Latency, Beside}
}

// Groups are the names by which Select knows workloads.
func Groups() []string { return []string{"connection", "request", "bulk", "latency", "idle"} }

// group is the group that w belongs to.
func (w Workload) group() string {
	switch w {
	case Request1:
		return "request"
	case Bulk1, Bulk8, Upload8:
		return "bulk"
	case Beside:
		return "latency"
	}
	return string(w)
}

// Select returns the workloads of the named groups, all for none. An error wraps
// ErrConfig.
func Select(groups []string) ([]Workload, error) {
	for _, g := range groups {
		if !slices.Contains(Groups(), g) {
			return nil, fmt.Errorf("%w: no workload %q; known are %s", ErrConfig, g, strings.Join(Groups(), ", "))
		}
	}
	if len(groups) == 0 {
		groups = Groups()
	}
	return slices.DeleteFunc(Workloads(), func(w Workload) bool { return !slices.Contains(groups, w.group()) }), nil
}

// Metric is one figure that a workload gives.
type Metric struct {
	Workload Workload
	// Key names it in samples.
	Key string
	// Title and Unit are for people.
	Title, Unit string
	// More is true if more is better.
	More bool
}

// Metrics are those that a table shows, in its order. Samples hold some more.
func Metrics() []Metric {
	return []Metric{
		{Connection, "cpu_us", "CPU a connection", "µs", false},
		{Connection, "rate", "connections", "/s", true},
		{Request, "cpu_us", "CPU a request, 50 clients", "µs", false},
		{Request, "rate", "requests, 50 clients", "/s", true},
		{Request1, "cpu_us", "CPU a request, 1 client", "µs", false},
		{Request1, "rate", "requests, 1 client", "/s", true},
		{Bulk1, "cpu_s_per_gb", "CPU a GB, 1 stream", "s", false},
		{Bulk1, "gb_per_s", "throughput, 1 stream", "GB/s", true},
		{Bulk8, "cpu_s_per_gb", "CPU a GB, 8 streams", "s", false},
		{Bulk8, "gb_per_s", "throughput, 8 streams", "GB/s", true},
		{Upload8, "cpu_s_per_gb", "CPU a GB, 8 streams up", "s", false},
		{Upload8, "gb_per_s", "throughput, 8 streams up", "GB/s", true},
		{Latency, "p50_us", "latency, median", "µs", false},
		{Latency, "p90_us", "latency, 90 %", "µs", false},
		{Latency, "p99_us", "latency, 99 %", "µs", false},
		{Latency, "p999_us", "latency, 99.9 %", "µs", false},
		{Latency, "max_us", "latency, longest", "µs", false},
		{Latency, "send_late_p99_us", "of it sent late, 99 %", "µs", false},
		{Beside, "p50_us", "beside 8 streams, median", "µs", false},
		{Beside, "p99_us", "beside 8 streams, 99 %", "µs", false},
		{Beside, "gb_per_s", "those streams", "GB/s", true},
		{Idle, "bytes", "memory an idle session", "B", false},
		{Idle, "descriptors", "descriptors an idle session", "", false},
		{Idle, "bytes_again", "memory, opened again", "B", false},
		{Idle, "descriptors_left", "descriptors left after", "", false},
	}
}
