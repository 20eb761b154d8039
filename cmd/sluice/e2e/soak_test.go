//go:build linux

package e2e

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

var (
	soakFor  = flag.Duration("soak", 8*time.Second, "how `long` sessions with random faults go on")
	soakSeed = flag.Uint64("seed", 0, "`number` that their faults follow from; 0 takes one by chance")
)

// soak is a sluice between clients and backends that both misbehave at random, each session by its own plan.
type soak struct {
	*parts.Sluice
	t        *testing.T
	addr     string
	backends []*parts.Backend
	// era is odd while a backend restarts. A session that does not see one and the same even era has been disturbed.
	era      atomic.Int64
	verdicts sync.Map // of the backends, by the number of the session: chan error
	sessions atomic.Int64
	orderly  atomic.Int64 // that had to pass every byte, and did
}

const (
	soakClients  = 16
	soakBackends = 3
	soakSamples  = 40
)

// Serial: it is load.
func TestSoakWithFaultsOnBothSidesLeavesNothingBehind(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d -soak %v", seed, *soakFor)
	onEngines(t, func(t *testing.T, engine string) {
		s := &soak{t: t}
		addrs := make([]string, soakBackends)
		for i := range addrs {
			s.backends = append(s.backends, parts.Serve(t, s.serve))
			addrs[i] = s.backends[i].Addr
		}
		s.Sluice = parts.RunSluice(t, parts.Config{Binary: plainBinary(t), Engine: engine,
			YAML: "log: {format: json, sessions: \"off\"}\n" + service(fastCheck, addrs...)})
		s.addr = s.Addr(t, "s")
		fresh := atRest(t, s.Sluice)
		fds, memory := s.load(seed)
		t.Logf("%d sessions, %d of them checked to the last byte on both sides", s.sessions.Load(), s.orderly.Load())
		if s.orderly.Load() == 0 {
			t.Error("no session ended in order")
		}
		s.judge(fds, memory)
		var now parts.FDs
		if !parts.Within(2*parts.Patience, func() bool { // probes come and go
			now = parts.CountFDs(t, s.Pid())
			return now.Sockets <= fresh.Sockets && now.Total-now.Pipes <= fresh.Total-fresh.Pipes
		}) {
			t.Errorf("%+v when all is over, %+v before", now, fresh)
		}
		for i, b := range s.backends {
			if n := b.Active.Load(); n > 1 { // a probe
				t.Errorf("b%d still has %d sessions", i+1, n)
			}
		}
	})
}

// load lets everybody loose for the time of the soak and measures meanwhile.
func (s *soak) load(seed uint64) (fds []parts.FDs, memory []int) {
	end := time.Now().Add(*soakFor)
	var running sync.WaitGroup
	for i := range soakClients {
		running.Go(func() { s.client(rand.New(rand.NewPCG(seed, uint64(i))), end) })
	}
	running.Go(func() { s.restart(rand.New(rand.NewPCG(seed, soakClients)), end) })
	tick := time.NewTicker(*soakFor / soakSamples)
	defer tick.Stop()
	for range soakSamples {
		<-tick.C
		fds = append(fds, parts.CountFDs(s.t, s.Pid()))
		memory = append(memory, parts.RSSAnon(s.t, s.Pid()))
	}
	running.Wait()
	return fds, memory
}

// judge compares the last quarter of the samples with the second; the first is for warming up.
func (s *soak) judge(fds []parts.FDs, memory []int) {
	const quarter = soakSamples / 4
	sockets := make([]int, len(fds))
	pipes := make([]int, len(fds))
	for i := range fds {
		sockets[i], pipes[i] = fds[i].Sockets, fds[i].Pipes
	}
	for _, m := range []struct {
		what  string
		list  []int
		slack int // what chance makes of the same load
	}{
		{"sockets", sockets, 4 * soakClients},
		{"descriptors of pipes", pipes, 8 * soakClients}, // one pipe for each direction of each client's last two sessions
		{"bytes of memory", memory, 3 << 20},             // of the binary users run: the race detector's own tables grow for long
	} {
		early, late := slices.Max(m.list[quarter:2*quarter]), slices.Max(m.list[3*quarter:])
		s.t.Logf("%s: at most %d in the second quarter, %d in the last", m.what, early, late)
		if late > early+early/10+m.slack {
			s.t.Errorf("%s grow: at most %d in the second quarter, %d in the last; all: %v", m.what, early, late, m.list)
		}
	}
}

// restart closes a backend with all its sessions now and then, and opens it again.
func (s *soak) restart(r *rand.Rand, end time.Time) {
	for {
		parts.Pause(time.Duration(500+r.IntN(1000)) * time.Millisecond)
		if time.Now().After(end) {
			return
		}
		b := s.backends[r.IntN(len(s.backends))]
		s.era.Add(1)
		b.Close()
		parts.Pause(time.Duration(r.IntN(200)) * time.Millisecond)
		b.Reopen(s.t)
		s.era.Add(1)
	}
}
