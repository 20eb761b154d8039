//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

const (
	manyServices = 200
	eachBackends = 25
	manyBackends = manyServices * eachBackends
)

// manyYAML is a file of many services, whose backends are all on one port of loopback addresses of their own.
func manyYAML(port int) string {
	var b strings.Builder
	b.WriteString(adminKey + "log: {level: info, format: json, sessions: errors}\nservices:\n")
	for s := range manyServices {
		fmt.Fprintf(&b, "  - {name: s%d, listen: \"127.0.0.1:0\", check: {type: tcp, interval: 2s}, backends: [", s)
		for i := range eachBackends {
			fmt.Fprintf(&b, "{address: \"127.%d.%d.1:%d\", name: b%d}, ", 1+s, i, port, i)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

// Serial: it measures processor time. In a namespace of its own, because of the sockets in TIME_WAIT.
func TestThousandsOfBackendsAreProbedAndShownCheaply(t *testing.T) {
	if !parts.InNetns(t, plainEnv+"="+plainBinary(t)) {
		return
	}
	b := parts.ServeAt(t, "0.0.0.0:20000", func(net.Conn) {})
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: manyYAML(20000),
		Wrap: []string{parts.Find(t, "prlimit", "util-linux"), "--nofile=20000:20000"}})
	begin := time.Now()
	admin := s.Admin(t)
	admin.AwaitReady()
	cpu := parts.CPU(t, s.Pid())
	t.Logf("start: ready after %v, with %v of CPU time, %d MB resident", time.Since(begin), cpu, parts.RSS(t, s.Pid())>>20)
	if cpu > 2*time.Second {
		t.Errorf("the start took %v of CPU time, want less than 2 s", cpu)
	}
	accepted, cpu := b.Accepted.Load(), parts.CPU(t, s.Pid())
	const measured = 8 * time.Second
	parts.Pause(measured)
	used, probes := parts.CPU(t, s.Pid())-cpu, b.Accepted.Load()-accepted
	t.Logf("probes: %d in %v, with %v of CPU time: %.1f %% of a core, %v a probe", probes, measured, used, 100*used.Seconds()/measured.Seconds(),
		used/time.Duration(max(probes, 1)))
	if used > measured/5 { // twice what is usual; 30 µs of a probe are the system's, for the socket alone
		t.Errorf("probes took %v of CPU time in %v, want less than a fifth", used, measured)
	}
	if least := int64(manyBackends * 3); probes < least {
		t.Errorf("%d probes in %v, want at least %d", probes, measured, least)
	}
	lookAtMany(t, admin)
}

// lookAtMany times what people and programs ask for, and looks at whether all is there.
func lookAtMany(t *testing.T, admin *parts.Admin) {
	t.Helper()
	timed := func(what string, ask func() int) {
		t.Helper()
		begin := time.Now()
		n := ask()
		t.Logf("%s: %v, %d kB", what, time.Since(begin).Round(time.Millisecond), n>>10)
		elapsed(t, what, begin, 0, 10*time.Second)
	}
	backends := func(text string) (n int) {
		var all []parts.ServiceView
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%v: %.100s", err, text)
		}
		for _, s := range all {
			for _, b := range s.Backends {
				if b.Usable && b.Health == "up" {
					n++
				}
			}
		}
		return n
	}
	timed("GET /api/v1/services, which the page asks for", func() int {
		status, text := admin.Get("/api/v1/services")
		if n := backends(text); status != http.StatusOK || n != manyBackends {
			t.Errorf("%d, %d backends up, want %d", status, n, manyBackends)
		}
		return len(text)
	})
	timed("sluice status --json", func() int { return len(admin.MustCtl("status", "--json")) })
	timed("sluice status", func() int {
		text := admin.MustCtl("status")
		if n := strings.Count(text, "\n"); n < manyBackends {
			t.Errorf("%d lines for %d backends", n, manyBackends)
		}
		return len(text)
	})
	timed("GET /metrics", func() int {
		m := admin.Metrics()
		if _, n := m.Sum("sluice_backend_up"); n != manyBackends {
			t.Errorf("%d backends in the metrics, want %d", n, manyBackends)
		}
		return 0
	})
	timed("sluice reload, of the same file", func() int { return len(admin.MustCtl("reload")) })
}
