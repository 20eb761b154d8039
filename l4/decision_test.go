package l4

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// records keeps what it is told.
type records struct {
	mu  sync.Mutex
	all []Decision
}

func (r *records) tell(d Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, d)
}

func (r *records) told() []Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Decision(nil), r.all...)
}

// await waits for n and returns them.
func (r *records) await(t *testing.T, n int) []Decision {
	t.Helper()
	eventually(t, fmt.Sprintf("%d decisions", n), func() bool { return len(r.told()) >= n })
	if all := r.told(); len(all) != n {
		t.Fatalf("%d decisions, want %d: %+v", len(all), n, all)
	}
	return r.told()
}

// tried names who was tried, in order.
func (d Decision) tried() string {
	var names []string
	for _, a := range d.Attempts {
		names = append(names, a.Backend)
	}
	return strings.Join(names, " ")
}

func TestGoodSessionsLeaveNoDecision(t *testing.T) {
	var told records
	r := serve(t, Config{Decision: told.tell, MaxConnections: 12}, echoes(t, 2)...)
	for _, c := range r.connectAll(10) {
		c.Close()
	}
	r.awaitEnded(relay.EOF, 10)
	killed := r.connectAll(12)
	r.expectTurnedAway() // that is no question of a backend
	r.awaitEnded(relay.LimitConnections, 1)
	r.Kill(everySession)
	for _, c := range killed {
		expectReset(t, c)
	}
	r.Close()
	told.await(t, 0)
}

func TestARetriedSessionLeavesADecision(t *testing.T) {
	var told records
	before := time.Now()
	r := serve(t, Config{Decision: told.tell, Balance: picker.First}, refusing(t, "d1"), refusing(t, "d2"), backend(t, echo).config("b"))
	c := r.connect()
	expectEcho(t, c, "x")
	told.await(t, 0) // its end tells
	c.Close()
	d := told.await(t, 1)[0]
	if d.Service != "svc" || d.Client.String() != c.LocalAddr().String() || d.Backend != "b" || d.Held != 0 ||
		d.End != (relay.End{Who: relay.Client, Why: relay.EOF}) || d.Time.Before(before) || d.Duration <= 0 {
		t.Errorf("%+v", d)
	}
	if d.tried() != "d1 d2" || d.Attempts[0].Error != "connection refused" || d.Attempts[0].Took <= 0 || d.Attempts[0].Took > d.Duration {
		t.Errorf("%+v", d.Attempts)
	}
}

func TestRefusedSessionsLeaveADecision(t *testing.T) {
	full := backend(t, echo).config("b")
	full.MaxConnections = 1
	for _, c := range []struct {
		why      relay.Why
		backends []BackendConfig
		before   func(r *rig)
		tried    string
	}{
		{relay.ConnectFailed, []BackendConfig{refusing(t, "d1")}, func(*rig) {}, "d1"},
		{relay.NoBackend, plain(1), func(r *rig) { r.Pool().SetAdmin(r.backends[0], Drain, byAdmin) }, ""},
		{relay.BackendsFull, []BackendConfig{full}, func(r *rig) { r.connectAll(1) }, ""},
		{relay.NoBackend, plain(1), func(r *rig) {
			r.Pool().SetHealth(r.backends[0], Down, byProbe)
			r.reconfigure(Config{Connect: holdFor(50 * time.Millisecond)})
		}, ""},
	} {
		var told records
		r := serve(t, Config{Decision: told.tell}, c.backends...)
		c.before(r)
		r.expectTurnedAway()
		d := told.await(t, 1)[0]
		if d.End != (relay.End{Who: relay.Sluice, Why: c.why}) || d.Backend != "" || d.tried() != c.tried {
			t.Errorf("%s: %+v", c.why, d)
		}
		if hold := r.cfg().Connect.Hold; d.Held < hold || hold == 0 && d.Held != 0 {
			t.Errorf("%s: held for %v of %v", c.why, d.Held, hold)
		}
	}
}

// One that waited, and was served in the end or left, was not served at once.
func TestHeldSessionsLeaveADecision(t *testing.T) {
	var told records
	r := serve(t, Config{Decision: told.tell, Connect: holdFor(patience)}, echoes(t, 1)...)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	leaves := r.connect()
	r.awaitHeld(1)
	leaves.Close()
	if d := told.await(t, 1)[0]; d.Held <= 0 || d.Backend != "" || d.End.Who != relay.Client {
		t.Errorf("%+v", d)
	}
	stays := r.connect()
	r.awaitHeld(1)
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	expectEcho(t, stays, "x")
	stays.Close()
	if d := told.await(t, 2)[1]; d.Held <= 0 || d.Held > d.Duration || d.Backend != "b1" || d.End.Why != relay.EOF || len(d.Attempts) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestADecisionKeepsTheFirstAttemptsOnly(t *testing.T) {
	var told records
	var all []BackendConfig
	dead := refusing(t, "")
	var first []string
	for i := range mostAttempts + 4 {
		dead.Name = fmt.Sprint("d", i)
		all = append(all, dead)
		if i < mostAttempts {
			first = append(first, dead.Name)
		}
	}
	r := serve(t, Config{Decision: told.tell, Balance: picker.First}, all...)
	r.expectTurnedAway()
	if d := told.await(t, 1)[0]; d.tried() != strings.Join(first, " ") {
		t.Errorf("tried %s", d.tried())
	}
	if l := r.log.await(t, "session", 1)[0]; l["attempts"] != fmt.Sprint(mostAttempts+4) {
		t.Errorf("logged %v", l)
	}
}

// The words of a client that another backend got as well are attempts too.
func TestAReplayedSessionLeavesADecision(t *testing.T) {
	var told records
	cfg := replaying(100)
	cfg.Decision = told.tell
	r := serve(t, cfg, backend(t, dies(5)).config("dies"), backend(t, echo).config("b"))
	c := r.connect()
	expectEcho(t, c, "hello")
	c.Close()
	d := told.await(t, 1)[0]
	if d.Backend != "b" || d.tried() != "dies" || !strings.HasPrefix(d.Attempts[0].Error, "ended the session before its first byte") {
		t.Errorf("%+v", d)
	}
}
