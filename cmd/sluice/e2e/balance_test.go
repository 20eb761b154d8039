//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

func TestWeightsShareClientsThreeToOne(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	for balance, slack := range map[string]int{"round-robin": 2, "random": 60} {
		t.Run(balance, func(t *testing.T) {
			t.Parallel()
			_, addr := start(t, noCheck+"balance: "+balance, weighted("b1", addrs[0], 3), weighted("b2", addrs[1], 1))
			got := tally(t, 400, addr)
			if d := got["b1"] - 300; d > slack || d < -slack {
				t.Errorf("400 clients were shared %v, want 300 and 100", got)
			}
		})
	}
}

// weighted is a backend of a configuration.
func weighted(name, addr string, weight int) string {
	return fmt.Sprintf("{address: %q, name: %s, weight: %d}", addr, name, weight)
}

func TestLeastConnFillsTheEmptierBackend(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, addr := start(t, noCheck+"balance: least-conn", weighted("b1", addrs[0], 3), weighted("b2", addrs[1], 1))
	on := sessionsByBackend(t, 40, addr)
	if len(on["b1"]) != 30 || len(on["b2"]) != 10 {
		t.Errorf("40 held sessions: %d and %d, want 30 and 10", len(on["b1"]), len(on["b2"]))
	}
}

func TestWeightZeroGetsNothing(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 2)
	for _, balance := range []string{"round-robin", "least-conn", "p2c", "random", "source-hash", "maglev", "first"} {
		t.Run(balance, func(t *testing.T) {
			_, addr := start(t, noCheck+"balance: "+balance, weighted("b1", addrs[0], 0), weighted("b2", addrs[1], 1))
			if got := tally(t, 50, addr); got["b2"] != 50 {
				t.Errorf("got %v, want b2 only", got)
			}
		})
	}
	if n := list[0].Accepted.Load(); n != 0 {
		t.Errorf("the backend of weight 0 got %d connections", n)
	}
}

func TestBackupServesOnlyWhileNoPrimaryIsUsable(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 3)
	s, addr := start(t, fastCheck, addrs[0], addrs[1], fmt.Sprintf("{address: %q, name: b3, priority: 1}", addrs[2]))
	s.AwaitUp(t, "b1", "b2", "b3")
	expectOnly(t, addr, "b1", "b2")
	down := func(i int, name string) {
		mark := s.Log.Len()
		list[i].Close()
		s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": name}, After: mark})
	}
	down(0, "b1")
	expectOnly(t, addr, "b2")
	down(1, "b2")
	expectOnly(t, addr, "b3")
	mark := s.Log.Len()
	list[0].Reopen(t)
	s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b1"}, After: mark})
	expectOnly(t, addr, "b1")
}

// A client whose only primary dies under its dial gets the backup, not a refusal.
func TestDialFailureFallsThroughToTheBackup(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b2"))
	_, addr := start(t, noCheck, parts.RefusedAddr(t), fmt.Sprintf("{address: %q, name: b2, priority: 1}", b.Addr))
	expectOnly(t, addr, "b2")
}

// expectOnly fails the test unless 30 clients are served by the named backends, and by each of them.
func expectOnly(t *testing.T, addr string, names ...string) {
	t.Helper()
	got := tally(t, 30, addr)
	served := 0
	for _, name := range names {
		if got[name] == 0 {
			t.Errorf("%s served none of 30: %v", name, got)
		}
		served += got[name]
	}
	if served != 30 {
		t.Errorf("got %v, want only %v", got, names)
	}
}

// sources are the client addresses 127.0.0.2 to 127.0.0.254.
func sources() []string {
	var list []string
	for i := 2; i <= 254; i++ {
		list = append(list, fmt.Sprintf("127.0.0.%d", i))
	}
	return list
}

// mapping says which backend each source gets.
func mapping(t *testing.T, addr string) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, source := range sources() {
		m[source] = whoNow(t, source, addr)
	}
	return m
}

// C74
func TestHashedClientsOfOtherBackendsStayWhenOneGoes(t *testing.T) {
	t.Parallel()
	for balance, tolerated := range map[string]int{"source-hash": 2, "maglev": 25} {
		t.Run(balance, func(t *testing.T) {
			t.Parallel()
			list, addrs := greeters(t, 5)
			s, addr := start(t, fastCheck+"balance: "+balance, addrs...)
			s.AwaitUp(t, "b1", "b2", "b3", "b4", "b5")
			first := mapping(t, addr)
			if moved := movedFrom(first, mapping(t, addr), ""); moved != 0 {
				t.Errorf("%d clients changed backend with nothing changed", moved)
			}
			list[2].Close()
			s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend down", Fields: parts.Fields{"backend": "b3"}})
			without := mapping(t, addr)
			if moved := movedFrom(first, without, "b3"); moved > tolerated {
				t.Errorf("%d clients of other backends moved", moved)
			}
			checkSpread(t, first, without)
			mark := s.Log.Len()
			list[2].Reopen(t)
			s.Log.Await(t, parts.Patience, 1, parts.Match{Msg: "backend up", Fields: parts.Fields{"backend": "b3"}, After: mark})
			if moved := movedFrom(first, mapping(t, addr), ""); moved != 0 {
				t.Errorf("%d clients are elsewhere after the return", moved)
			}
		})
	}
}

// movedFrom counts the clients whose backend differs, without those that were on gone.
func movedFrom(before, after map[string]string, gone string) int {
	n := 0
	for source, b := range before {
		if b != gone && after[source] != b {
			n++
		}
	}
	return n
}

// checkSpread wants every backend used, and the clients of b3 spread over at least three others.
func checkSpread(t *testing.T, first, without map[string]string) {
	t.Helper()
	used, heirs := map[string]int{}, map[string]int{}
	for source, b := range first {
		used[b]++
		if b == "b3" {
			heirs[without[source]]++
		}
	}
	if len(used) != 5 || len(heirs) < 3 || heirs["b3"] > 0 {
		t.Errorf("253 clients on %v; those of b3 went to %v, want at least 3 others", used, heirs)
	}
}

// C52
func TestFullHashedBackendSpillsToTheNext(t *testing.T) {
	t.Parallel()
	list, addrs := greeters(t, 3)
	var specs []string
	for i, a := range addrs {
		specs = append(specs, fmt.Sprintf("{address: %q, name: b%d, max_connections: 5}", a, i+1))
	}
	_, addr := start(t, noCheck+"balance: source-hash", specs...)
	var order []string
	for range 12 {
		c := parts.DialFrom(t, "127.0.0.2", addr)
		name, err := parts.Name(c)
		if err != nil {
			t.Fatalf("client %d was refused: %v", len(order)+1, err)
		}
		order = append(order, name)
	}
	for i, name := range order {
		if want := order[i/5*5]; name != want {
			t.Errorf("client %d got %s, want %s: home first, then the next in order: %v", i+1, name, want, order)
		}
	}
	for i, b := range list {
		if b.Peak.Load() > 5 {
			t.Errorf("b%d had %d sessions, more than its 5", i+1, b.Peak.Load())
		}
	}
}

// Serial: the burst is load.
func TestMaxConnectionsIsExactUnderABurst(t *testing.T) {
	b := parts.Serve(t, parts.Greet("b1"))
	s, addr := start(t, noCheck, fmt.Sprintf("{address: %q, name: b1, max_connections: 10}", b.Addr))
	for round := range 3 {
		conns := make([]net.Conn, 100)
		var served atomic.Int64
		each(t, len(conns), func(i int) error {
			c, err := parts.TryDial("", addr)
			if errors.Is(err, syscall.ECONNRESET) {
				return nil // refused so early that the connect reports it
			}
			if err != nil {
				return err
			}
			conns[i] = c
			if _, err := parts.Name(c); err == nil {
				served.Add(1)
			}
			return nil
		})
		if n := served.Load(); n != 10 {
			t.Errorf("round %d: %d of 100 clients were served at once, want exactly 10", round, n)
		}
		for _, c := range conns {
			if c != nil {
				_ = c.Close()
			}
		}
		s.Log.Await(t, 3*time.Second, 10*(round+1), parts.Match{Msg: "session", Fields: parts.Fields{"backend": "b1"}})
	}
	if peak := b.Peak.Load(); peak > 10 {
		t.Errorf("the backend saw %d sessions at once", peak)
	}
}
