//go:build linux

package e2e

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// C89
func TestByteCountersGrowDuringATransferAndAreExactAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"loops", "portable"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			const chunk, chunks = 512 << 10, 60
			b := parts.Serve(t, func(c net.Conn) {
				tick := time.NewTicker(50 * time.Millisecond)
				defer tick.Stop()
				for range chunks {
					if _, err := c.Write(make([]byte, chunk)); err != nil {
						return
					}
					<-tick.C
				}
			})
			s := parts.RunSluice(t, parts.Config{Binary: binary(t), Engine: engine, YAML: adminKey + service(noCheck, b.Addr)})
			admin := s.Admin(t)
			c := parts.Dial(t, s.Addr(t, "s"))
			parts.Write(t, c, "hello")
			var got atomic.Int64
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = c.SetDeadline(time.Now().Add(4 * parts.Patience))
				buf := make([]byte, 256<<10)
				for {
					n, err := c.Read(buf)
					if got.Add(int64(n)); err != nil {
						return
					}
				}
			}()
			followCounter(t, admin, &got, ended)
			_ = c.Close()
			s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session"})
			m := admin.Metrics()
			if v := m.Value("sluice_bytes_total", `backend="b1"`, `direction="to_client"`); v != chunk*chunks || got.Load() != chunk*chunks {
				t.Errorf("%v bytes to the client by the metric, it got %d of %d", v, got.Load(), chunk*chunks)
			}
			if v := m.Value("sluice_bytes_total", `backend="b1"`, `direction="to_backend"`); v != 5 {
				t.Errorf("%v bytes to the backend by the metric, want 5", v)
			}
		})
	}
}

// followCounter scrapes until the transfer has ended: the counter lags behind by no more than 2 s, and never goes back.
func followCounter(t *testing.T, admin *parts.Admin, got *atomic.Int64, ended chan struct{}) {
	t.Helper()
	type look struct {
		at  time.Time
		got int64
	}
	var looks []look
	var last float64
	grew := 0
	for {
		select {
		case <-ended:
			if grew < 5 {
				t.Errorf("the counter grew %d times during the transfer", grew)
			}
			return
		case <-time.After(200 * time.Millisecond):
		}
		looks = append(looks, look{time.Now(), got.Load()})
		v := admin.Metrics().Value("sluice_bytes_total", `backend="b1"`, `direction="to_client"`)
		if v > last {
			grew++
		}
		for _, l := range looks {
			if time.Since(l.at) > 2*time.Second && v < float64(l.got) {
				t.Errorf("the counter says %v, %v after the client had %d", v, time.Since(l.at), l.got)
			}
		}
		if v < last {
			t.Errorf("the counter went from %v to %v", last, v)
		}
		last = v
	}
}

// endings is a file of services each of which has ways to end of its own.
func endings(echo, refused string) string {
	one := func(name, keys, backend string) string {
		return fmt.Sprintf("  - {name: %s, listen: \"127.0.0.1:0\", %s, check: {type: none}, backends: [{address: \"%s\", name: b1}]}\n", name, keys, backend)
	}
	return "log: {level: info, format: json, sessions: all}\n" + adminKey + "services:\n" +
		one("plain", "balance: first", echo) +
		one("quick", "timeouts: {idle: 300ms, half_close: 300ms}", echo) +
		one("refusing", "balance: first", refused) +
		one("closed", "deny: [127.0.0.0/8]", echo) +
		one("full", "limits: {connections: 1}", echo) +
		one("single", "limits: {per_source: 1}", echo) +
		one("slow", "limits: {rate_per_source: 1}", echo) +
		one("headed", "proxy_protocol: {accept: [127.0.0.0/8], accept_timeout: 300ms}", echo)
}

// C91
func TestReasonsOfEndsAreTheSameInLogAndMetrics(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Echo)
	s := run(t, endings(b.Addr, parts.RefusedAddr(t)))
	admin := s.Admin(t)
	open := func(service string) *net.TCPConn { return parts.Dial(t, s.Addr(t, service)) }
	for range 3 {
		c := open("plain")
		parts.Echoes(t, c, "eof")
		_ = c.Close()
	}
	reset := open("plain")
	parts.Echoes(t, reset, "reset")
	parts.Reset(reset)
	killed := open("plain")
	parts.Echoes(t, killed, "killed")
	s.Log.Await(t, parts.Patience, 4, parts.Match{Msg: "session", Fields: parts.Fields{"service": "plain"}})
	admin.MustCtl("kill", "plain", "--yes")
	parts.Ends(t, open("quick"), parts.Patience)
	for _, service := range []string{"refusing", "closed"} {
		for range 3 {
			parts.Refused(t, "", s.Addr(t, service), parts.Patience)
		}
	}
	for _, service := range []string{"full", "single", "slow"} {
		parts.Echoes(t, open(service), "the one")
		for range 3 {
			parts.Refused(t, "", s.Addr(t, service), parts.Patience)
		}
	}
	admin.MustCtl("drain", "plain/b1")
	parts.Refused(t, "", s.Addr(t, "plain"), parts.Patience)
	parts.Refused(t, "", s.Addr(t, "headed"), parts.Patience)
	wrong := open("headed")
	parts.Write(t, wrong, "GET / HTTP/1.0\r\n\r\n")
	parts.Ends(t, wrong, parts.Patience)
	compareEnds(t, s, admin)
}

// compareEnds waits until log and metrics agree, and looks for the reasons that were provoked.
func compareEnds(t *testing.T, s *parts.Sluice, admin *parts.Admin) {
	t.Helper()
	var logged, counted map[string]int
	if !parts.Within(parts.Patience, func() bool {
		logged, counted = loggedEnds(s), countedEnds(admin)
		return maps.Equal(logged, counted) && len(logged) >= 11
	}) {
		t.Errorf("log     %v\nmetrics %v", logged, counted)
	}
	for _, want := range []string{"plain eof", "plain reset", "plain killed", "plain no-backend", "quick idle", "refusing connect-failed", "closed denied",
		"full limit-connections", "single limit-per-source", "slow limit-rate", "headed proxy-header", "headed proxy-timeout"} {
		if logged[want] == 0 {
			t.Errorf("nothing was logged for %q: %v", want, slices.Sorted(maps.Keys(logged)))
		}
	}
	for _, service := range admin.Services() {
		for reason, n := range service.Ended {
			if counted[service.Name+" "+reason] != n {
				t.Errorf("%s %s: %d by the API, %d by the metrics", service.Name, reason, n, counted[service.Name+" "+reason])
			}
		}
	}
}

// loggedEnds counts the records of sessions by service and reason.
func loggedEnds(s *parts.Sluice) map[string]int {
	got := map[string]int{}
	for _, r := range s.Log.All(parts.Match{Msg: "session"}) {
		got[r.Get("service")+" "+why(r)]++
	}
	return got
}

// countedEnds is the same by the metrics.
func countedEnds(admin *parts.Admin) map[string]int {
	got := map[string]int{}
	for series, v := range admin.Metrics() {
		reason := parts.Label(series, "why")
		if strings.HasPrefix(series, "sluice_refused_total") {
			reason = parts.Label(series, "reason")
		} else if !strings.HasPrefix(series, "sluice_session_ends_total") {
			continue
		}
		if v > 0 {
			got[parts.Label(series, "service")+" "+reason] += int(v)
		}
	}
	return got
}
