//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// siege is a sluice that is attacked through one service while a witness uses another.
type siege struct {
	*parts.Sluice
	t        *testing.T
	engine   string
	addr     string // of the service that is attacked
	calm     string // of the witness's
	baseline parts.FDs
	witness  *witness
	attack   sync.WaitGroup // goroutines of the attack
}

// sparePipes bounds the descriptors of pipes that two event loops keep for the next bulk when nothing moves any more: a
// few pipes each, two descriptors a pipe.
const sparePipes = 64

// besiege starts a sluice whose service s, with these backends, is to be attacked. defaults are further keys of both
// services.
func besiege(t *testing.T, engine, defaults string, backends ...string) *siege {
	t.Helper()
	calm := parts.Serve(t, parts.Echo)
	yaml := "defaults:\n  check: {type: none}\n  passive: {failures: 0}\n  " + defaults + "\n" + service("", backends...) +
		"  - {name: calm, listen: \"127.0.0.1:0\", backends: [\"" + calm.Addr + "\"]}\n"
	s := &siege{t: t, engine: engine, Sluice: parts.RunSluice(t, parts.Config{Binary: binary(t), Engine: engine, YAML: yaml,
		Env: []string{"GOMAXPROCS=2"}})} // two loops on any machine: an attack has to hold up both
	s.addr, s.calm = s.Addr(t, "s"), s.Addr(t, "calm")
	warm := parts.Dial(t, s.calm)
	parts.Echoes(t, warm, "warm")
	_ = warm.Close()
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "session"})
	s.baseline = atRest(t, s.Sluice)
	s.witness = watch(t, s.calm)
	return s
}

// lifted is the end of every siege: the witness still gets answers, and once it has gone too nothing is left.
func (s *siege) lifted() {
	s.t.Helper()
	s.attack.Wait()
	s.witness.answered(20)
	s.witness.stop()
	s.awaitSockets(s.baseline.Sockets)
	parts.Eventually(s.t, parts.Patience, "other descriptors are back", func() bool {
		now := parts.CountFDs(s.t, s.Pid())
		return now.Total-now.Pipes == s.baseline.Total-s.baseline.Pipes
	})
	// The portable engine leaves pipes to the standard library, which closes them when it collects garbage.
	now := parts.CountFDs(s.t, s.Pid())
	if more := now.Pipes - s.baseline.Pipes; s.engine == loops && more > sparePipes {
		s.t.Errorf("%d more descriptors of pipes than before, want at most %d", more, sparePipes)
	}
}

// awaitSockets waits until there are as many sockets as that.
func (s *siege) awaitSockets(want int) {
	s.t.Helper()
	var now parts.FDs
	if !parts.Within(2*parts.Patience, func() bool {
		now = parts.CountFDs(s.t, s.Pid())
		return now.Sockets == want
	}) {
		s.t.Errorf("%+v, want %d sockets as before: %v", now, want, parts.Sockets(s.t, s.Pid())[:min(20, now.Sockets)])
	}
}

// atRest waits until sluice holds the same for a moment, with no sockets but its listeners, and returns what that is.
// What it needs to start, or for a probe, is no part of it.
func atRest(t *testing.T, s *parts.Sluice) parts.FDs {
	t.Helper()
	var rest parts.FDs
	var since time.Time
	parts.Eventually(t, parts.Patience, "sluice comes to rest", func() bool {
		if now := parts.CountFDs(t, s.Pid()); now != rest {
			rest, since = now, time.Now()
		}
		if time.Since(since) < 100*time.Millisecond {
			return false
		}
		listeners, pid := 0, fmt.Sprintf("pid=%d,", s.Pid())
		for _, line := range parts.SS(t, "-tlnpH", pid) {
			listeners += strings.Count(line, pid)
		}
		return listeners == rest.Sockets
	})
	return rest
}

// settled waits until n is above least and has not changed between two looks: what it counts is stuck. A
// machine that stands still itself may look so too, which only makes the attack weaker.
func settled(t *testing.T, what string, least int64, n *atomic.Int64) {
	t.Helper()
	last, since := int64(-1), time.Now()
	parts.Eventually(t, 2*parts.Patience, what, func() bool {
		if now := n.Load(); now != last {
			last, since = now, time.Now()
		}
		return last > least && time.Since(since) > 300*time.Millisecond
	})
}
