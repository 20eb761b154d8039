package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
)

// installed finds haproxy, and fails the test where it is not.
func installed(t *testing.T) balancer.Spec {
	t.Helper()
	s, err := balancer.Spec{Kind: balancer.HAProxy, Name: "haproxy"}.Find(t.Context())
	if err != nil {
		t.Fatalf("%v: these tests need haproxy, nginx and redis-server", err)
	}
	return s
}

func config(t *testing.T, duration time.Duration, workloads ...Workload) Config {
	t.Helper()
	return Config{
		Balancers: []balancer.Spec{installed(t)}, Worker: []string{os.Args[0], workerArg},
		Duration: duration, Rounds: 1, Workloads: workloads, Sessions: 50,
	}
}

// complete runs c with time enough: a machine that is busy otherwise may need more than
// what is planned.
func complete(t *testing.T, c Config) *Result {
	t.Helper()
	for range 4 {
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Partial == "" {
			return r
		}
		t.Logf("within %v: %s", c.Duration, r.Partial)
		c.Duration *= 2
	}
	t.Fatal("there never is time enough")
	return nil
}

// children are the processes that this one has started, by their names.
func children(t *testing.T, name string) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		var comm, state string
		fmt.Sscanf(string(text), "%d %s %s %d", &pid, &comm, &state, &parent)
		if parent == os.Getpid() && strings.Contains(comm, name) && state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestEveryWorkloadIsMeasured(t *testing.T) {
	c := config(t, 12*time.Second)
	c.Progress = func(s Step) { t.Logf("%v %s %s", s.Elapsed, s.What, s.Target) }
	r := complete(t, c)
	if r.Sessions != 50 || r.Rate <= 0 || len(r.Backends) != 3 {
		t.Errorf("%d sessions, rate %v, backends %v", r.Sessions, r.Rate, r.Backends)
	}
	for _, m := range Metrics() {
		if r.Summary("haproxy", m).N != 1 {
			t.Errorf("haproxy has no %s", m.Title)
		}
		own := strings.HasPrefix(m.Key, "cpu") || m.Workload == Idle // a balancer's, which direct has none of
		if n := r.Summary(Direct, m).N; (n == 1) == own {
			t.Errorf("direct has %d of %s", n, m.Title)
		}
	}
	r.Others = 0 // whatever else runs here
	if w := r.Warnings(); len(w) != 0 {
		t.Errorf("warnings: %q", w)
	}
	if d := r.Summary("haproxy", metric(t, "descriptors an idle session")).Median; d != 2 {
		t.Errorf("%v descriptors an idle session", d)
	}
	if left := children(t, ""); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestLatencyAloneFindsItsRate(t *testing.T) {
	r := complete(t, config(t, 4*time.Second, Latency))
	peak := r.Summary("haproxy", Metric{Workload: Request, Key: "rate"}).Median
	if r.Rate < peak/2-1 || r.Rate > peak/2 {
		t.Errorf("rate %v, peak %v", r.Rate, peak)
	}
}

func TestAGivenRateNeedsNoPeak(t *testing.T) {
	c := config(t, 3*time.Second, Latency)
	c.Rate = 321
	r := complete(t, c)
	if r.Rate != 321 || r.Summary("haproxy", Metric{Workload: Request, Key: "rate"}).N != 0 {
		t.Errorf("rate %v, samples %+v", r.Rate, r.Samples)
	}
}

func TestABalancerThatEndsIsLeftOutFromThenOn(t *testing.T) {
	c := config(t, 6*time.Second, Connection, Request1)
	c.Rounds = 2
	c.Progress = func(s Step) {
		if s.Target == "haproxy" && s.Round == 1 && s.What == string(Connection) {
			for _, pid := range children(t, "haproxy") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	r := complete(t, c)
	if got := strings.Join(r.Notes, "\n"); !strings.Contains(got, "haproxy ended in connection") || !strings.Contains(got, "killed") {
		t.Errorf("notes %q", r.Notes)
	}
	of := map[string]int{}
	for _, s := range r.Samples {
		of[s.Balancer]++
		if s.Balancer == "haproxy" && (s.Error == "" || len(s.Values) > 0) {
			t.Errorf("a dead one has %+v", s)
		}
	}
	if of["haproxy"] != 1 || of[Direct] != 4 {
		t.Errorf("samples %v", of)
	}
}

func TestAnInterruptedRunReturnsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := config(t, time.Minute, Connection, Request1)
	c.Rounds = 3
	c.Progress = func(s Step) {
		if s.Number == 3 {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Partial, "interrupted in round 1 of 3") || len(r.Samples) != 2 {
		t.Errorf("partial %q, %d samples", r.Partial, len(r.Samples))
	}
	if left := children(t, ""); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestARunThatIsInterruptedAtOnceIsAnError(t *testing.T) {
	why := errors.New("no time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Run(ctx, config(t, time.Minute, Connection)); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if left := children(t, ""); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestABalancerThatCannotStartIsAnError(t *testing.T) {
	c := config(t, time.Minute, Request)
	c.Balancers[0].Path = "/bin/false"
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "haproxy") {
		t.Errorf("%v", err)
	}
	if left := children(t, ""); len(left) != 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestConfigurationsCanBeHadWithoutARun(t *testing.T) {
	all, err := Configs(t.Context(), config(t, time.Minute))
	if err != nil || len(all) != 1 || !strings.Contains(all[0].Config, "splice-auto") {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestFewerSessionsAreUsedWhereDescriptorsDoNotSuffice(t *testing.T) {
	for _, tt := range []struct {
		limit uint64
		want  int
		note  bool
	}{{1 << 20, 3000, false}, {18_500, 3000, false}, {6500, 1000, true}, {100, 0, true}} {
		r := &runner{c: Config{Sessions: 3000}, result: &Result{}}
		if got := r.affordable(tt.limit); got != tt.want || (len(r.result.Notes) > 0) != tt.note {
			t.Errorf("limit %d: %d sessions, notes %q", tt.limit, got, r.result.Notes)
		}
	}
}
