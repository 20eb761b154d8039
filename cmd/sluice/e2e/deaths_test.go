//go:build linux

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// answer is a server of lines: each is answered by itself.
func answer(c net.Conn) {
	lines := bufio.NewReader(c)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

// slowly is answer by a server that needs a while for each client.
func slowly(c net.Conn) {
	parts.Pause(300 * time.Millisecond)
	answer(c)
}

// resetAtOnce reads nothing and resets.
func resetAtOnce(c net.Conn) { parts.Reset(c) }

// arrivals is clients that come at a fixed rate, whatever becomes of those before: each connects, asks one line, and is
// served if it gets that back and the end of stream after its own.
type arrivals struct {
	addr string
	rate int // a second

	failed  atomic.Int64
	wg      sync.WaitGroup
	mu      sync.Mutex
	reasons map[string]int
	delays  []time.Duration // of those that were served, from the instant at which each was due
}

// come lets clients come for so long and returns how many there were.
func (c *arrivals) come(d time.Duration) (n int) {
	tick := time.NewTicker(time.Second / time.Duration(c.rate))
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
		due := <-tick.C
		client := n
		c.wg.Go(func() { c.one(due, client) })
	}
	return n
}

func (c *arrivals) one(due time.Time, n int) {
	err := c.ask(fmt.Sprintf("client %d\n", n))
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed.Add(1)
		if c.reasons == nil {
			c.reasons = make(map[string]int)
		}
		c.reasons[err.Error()]++
		return
	}
	c.delays = append(c.delays, time.Since(due))
}

func (c *arrivals) ask(line string) error {
	conn, err := net.DialTimeout("tcp", c.addr, 10*time.Second)
	if err != nil {
		return innermost(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, line); err != nil {
		return innermost(err)
	}
	got := make([]byte, len(line))
	if _, err := io.ReadFull(conn, got); err != nil {
		return innermost(err)
	}
	if string(got) != line {
		return fmt.Errorf("got %q, want %q", got, line)
	}
	return nil
}

func innermost(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// report says how they fared: the row of a table.
func (c *arrivals) report(t *testing.T, n int) {
	c.wg.Wait()
	slices.Sort(c.delays)
	at := func(share float64) time.Duration {
		if len(c.delays) == 0 {
			return 0
		}
		return c.delays[int(share*float64(len(c.delays)-1))].Round(100 * time.Microsecond)
	}
	late, _ := slices.BinarySearch(c.delays, 50*time.Millisecond)
	t.Logf("%d clients, %d failed %v, %d waited over 50 ms; median %v, 99 %% %v, longest %v", n, c.failed.Load(), c.reasons,
		len(c.delays)-late, at(.5), at(.99), at(1))
}

// death is a way for one of a service's backends to go.
type death struct {
	name     string
	keys     string // of the service
	backends int
	// fault is called while clients come, and returns what ends it; nil where nothing does.
	fault func(t *testing.T, victim *parts.Peer) (mend func())
	// instead are backends that are there from the start, and ill.
	instead func(t *testing.T) string
	failed  int64 // at most
}

func TestEveryWayABackendCanDie(t *testing.T) {
	kill := func(_ *testing.T, p *parts.Peer) func() { p.Kill(); return nil }
	restart := func(t *testing.T, p *parts.Peer) func() {
		p.Kill()
		return func() { parts.StartPeer(t, "answer", p.Addr) }
	}
	const askCheck = "check: {type: send-expect, send: 'x\\n', expect: 'x', interval: 200ms, timeout: 200ms, fall: 2, rise: 1}\n"
	for _, d := range []death{
		{name: "kill -9", keys: fastCheck + "connect: {replay: 1024}", backends: 3, fault: kill},
		{name: "refused", keys: fastCheck, backends: 2, instead: func(t *testing.T) string { return parts.RefusedAddr(t) }},
		{name: "frozen", keys: askCheck + "connect: {replay: 1024}", backends: 3, fault: func(_ *testing.T, p *parts.Peer) func() {
			p.Signal(syscall.SIGSTOP)
			return func() { p.Signal(syscall.SIGCONT) }
		}},
		{name: "SYNs dropped", keys: noCheck + "connect: {hedge_after: 50ms}", backends: 2, instead: func(t *testing.T) string { return parts.Blackhole(t) }},
		{name: "reset after accept", keys: noCheck + "connect: {replay: 1024}", backends: 2, instead: func(t *testing.T) string {
			return parts.StartPeer(t, "reset", "").Addr
		}},
		{name: "slow to accept", keys: noCheck + "balance: least-conn", backends: 2, instead: func(t *testing.T) string {
			return parts.StartPeer(t, "slow", "").Addr
		}},
		{name: "flapping", keys: fastCheck + "connect: {replay: 1024}", backends: 3, fault: func(t *testing.T, p *parts.Peer) func() {
			for range 3 {
				p.Kill()
				p = parts.StartPeer(t, "answer", p.Addr)
			}
			return nil
		}},
		{name: "the only one is restarted", keys: fastCheck + "connect: {hold: 5s, replay: 1024}", backends: 1, fault: restart},
		{name: "the only one is restarted, without checks", keys: noCheck + "connect: {hold: 5s, replay: 1024}", backends: 1, fault: restart},
	} {
		t.Run(d.name, func(t *testing.T) { d.run(t) })
	}
}

func (d death) run(t *testing.T) {
	var addrs []string
	if d.instead != nil {
		addrs = append(addrs, d.instead(t))
	}
	var victim *parts.Peer
	for range d.backends {
		victim = parts.StartPeer(t, "answer", "")
		addrs = append(addrs, victim.Addr)
	}
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: service(d.keys, addrs...)})
	c := &arrivals{addr: s.Addr(t, "s"), rate: 200}
	n := c.come(500 * time.Millisecond)
	if d.fault != nil {
		during := make(chan func())
		go func() { during <- d.fault(t, victim) }()
		n += c.come(1500 * time.Millisecond)
		if mend := <-during; mend != nil {
			mend()
		}
	}
	n += c.come(time.Second)
	c.report(t, n)
	if c.failed.Load() > d.failed {
		t.Errorf("%d of %d clients failed: %v", c.failed.Load(), n, c.reasons)
	}
}

// All backends are gone for two seconds, and a client may wait for five.
func TestAllDownForAWhileFailsNobodyWhoMayWait(t *testing.T) {
	var all []*parts.Peer
	var addrs []string
	for range 3 {
		all = append(all, parts.StartPeer(t, "answer", ""))
		addrs = append(addrs, all[len(all)-1].Addr)
	}
	s := parts.RunSluice(t, parts.Config{Binary: plainBinary(t), YAML: service(fastCheck+"connect: {hold: 5s, replay: 1024}", addrs...)})
	c := &arrivals{addr: s.Addr(t, "s"), rate: 200}
	n := c.come(500 * time.Millisecond)
	for _, p := range all {
		p.Kill()
	}
	n += c.come(2 * time.Second)
	for _, p := range all {
		parts.StartPeer(t, "answer", p.Addr)
	}
	n += c.come(time.Second)
	c.report(t, n)
	if c.failed.Load() > 0 {
		t.Errorf("%d of %d clients failed: %v", c.failed.Load(), n, c.reasons)
	}
	if len(s.Log.All(parts.Match{Msg: "no usable backend"})) != 1 {
		t.Error("the outage was not said once")
	}
}

// C43
func TestSessionsOfABackendWhoseCheckFailsAreClosedInTime(t *testing.T) {
	t.Parallel()
	frozen, other := parts.StartPeer(t, "answer", ""), parts.StartPeer(t, "answer", "")
	keys := "check: {type: send-expect, send: 'x\\n', expect: 'x', interval: 200ms, timeout: 200ms, fall: 2, rise: 1}\non_down: close\n"
	s, addr := start(t, keys, frozen.Addr, other.Addr)
	s.AwaitUp(t, "b1", "b2")
	var conns []net.Conn
	for range 40 {
		c := parts.Dial(t, addr)
		parts.Write(t, c, "hello\n")
		parts.Expect(t, c, "hello\n")
		conns = append(conns, c)
	}
	frozen.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { frozen.Signal(syscall.SIGCONT) })
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "sessions closed"})
	ended, alive := 0, 0
	for _, c := range conns {
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.WriteString(c, "again\n"); err == nil {
			if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && line == "again\n" {
				alive++
				continue
			}
		}
		ended++
	}
	if ended != 20 || alive != 20 {
		t.Errorf("%d sessions ended and %d live, want 20 and 20", ended, alive)
	}
	if l := s.Log.All(parts.Match{Msg: "sessions closed"}); !strings.Contains(l[0].Raw, `"sessions":20`) {
		t.Error(l[0].Raw)
	}
}
