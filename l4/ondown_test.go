package l4

import (
	"io"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// C43
func TestTheSessionsOfABackendThatGoesDownAreResetIfTheFileSaysSo(t *testing.T) {
	for _, c := range []struct {
		name   string
		onDown OnDown
		down   func(*rig)
		closed bool
	}{
		{"an active check, close", OnDownClose, func(r *rig) { r.Pool().SetHealth(r.backends[0], Down, byProbe) }, true},
		{"an active check, keep", OnDownKeep, func(r *rig) { r.Pool().SetHealth(r.backends[0], Down, byProbe) }, false},
		{"failed dials only", OnDownClose, func(r *rig) { r.Pool().Eject(r.backends[0], byDial) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			const sessions = 20
			r := serve(t, Config{OnDown: c.onDown}, echoes(t, 2)...)
			var clients []relay.Conn
			for range 2 * sessions {
				clients = append(clients, r.connect())
				expectEcho(t, clients[len(clients)-1], "x")
			}
			c.down(r)
			if c.closed {
				r.awaitEnded(relay.BackendDown, sessions)
			}
			left := 0
			for i, client := range clients {
				if c.closed && i%2 == 0 { // round robin
					expectReset(t, client)
					continue
				}
				expectEcho(t, client, "y")
				left++
			}
			r.awaitActive(int64(left))
			if c.closed {
				l := r.log.await(t, "sessions closed", 1)[0]
				if l["backend"] != r.backends[0].Name() || l["sessions"] != "20" || l["reason"] != "backend-down" {
					t.Errorf("logged %v", l)
				}
			}
		})
	}
}

func TestTheClosingIsSpreadOldestFirstAndEndsWhenTheBackendIsBack(t *testing.T) {
	r := serve(t, Config{OnDown: OnDownClose, CloseOver: 300 * time.Millisecond}, echoes(t, 1)...)
	var clients []relay.Conn
	for range 6 {
		c := r.connect()
		expectEcho(t, c, "x")
		clients = append(clients, c)
	}
	began := time.Now()
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	for i, c := range clients {
		expectReset(t, c)
		if i == 3 {
			break
		}
	}
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("the fourth of six was closed after %v", took)
	}
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	r.log.await(t, "sessions closed", 1)
	n := r.ended(relay.BackendDown)
	if n < 4 || n > 6 {
		t.Errorf("%d were closed", n)
	}
	for i, c := range clients {
		if int64(i) >= n {
			expectEcho(t, c, "y")
		}
	}
}

// A session that is killed leaves no trace on the one that comes after it.
func TestClosedSessionsDoNotTakeLaterOnesWithThem(t *testing.T) {
	r := serve(t, Config{OnDown: OnDownClose, Balance: picker.First}, echoes(t, 2)...)
	for range 200 {
		c, other := r.connect(), r.connect()
		expectEcho(t, c, "x")
		expectEcho(t, other, "x")
		other.Close()
		r.Pool().SetHealth(r.backends[0], Down, byProbe)
		r.Pool().SetHealth(r.backends[0], Up, byProbe)
		late := r.connect()
		expectEcho(t, late, "x")
		expectDrainedSomehow(c)
		expectEcho(t, late, "y")
		late.Close()
	}
}

// expectDrainedSomehow reads to the end: the session was closed, or its backend was back
// before that.
func expectDrainedSomehow(c relay.Conn) {
	c.CloseWrite()
	drain(c)
	c.Close()
}

// While one backend falls and rises again and again, dials to it go on elsewhere: no session
// of the other one must be closed for it, and nobody be refused.
func TestTheClosingTouchesNoSessionOfAnotherBackend(t *testing.T) {
	for name, cfg := range map[string]Config{
		"at once": {},
		"hedged":  {CloseOver: 5 * time.Millisecond, Connect: ConnectConfig{HedgeAfter: time.Millisecond}},
		"replay":  {CloseOver: 5 * time.Millisecond, Connect: ConnectConfig{Replay: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.OnDown = OnDownClose
			r := serve(t, cfg, echoes(t, 2)...)
			r.Pool().SetHealth(r.backends[1], Up, byProbe)
			stop := r.flap(r.backends[0])
			parallel(4, func(int) {
				for range 60 {
					r.askAnyhow("hello")
				}
			})
			stop()
			r.awaitActive(0)
			for _, l := range r.log.of("session") {
				switch why := l["end.why"]; {
				case why == "backend-down" && l["backend"] != r.backends[0].Name(), why == "connect-failed", why == "no-backend":
					t.Errorf("logged %v", l)
				}
			}
		})
	}
}

// One that was found with the fallen backend, and has gone on with another since, must stay.
func TestASessionThatHasMovedOnIsNotClosedWithItsOldBackend(t *testing.T) {
	r := assemble(t, Config{OnDown: OnDownClose}, echoes(t, 2)...)
	near, _ := pair(t)
	sess := r.pretend(r.backends[0], near)
	defer sess.turnAway(relay.End{Who: relay.Client, Why: relay.EOF})
	found := r.sessionsOf(r.backends[0])
	if len(found) != 1 {
		t.Fatalf("found %d", len(found))
	}
	if !sess.serve(r.backends[1]) {
		t.Fatal("the other one is barred")
	}
	if r.closeOne(found[0], r.backends[0]) || sess.wasKilled() {
		t.Error("it was closed")
	}
	if !r.closeOne(found[0], r.backends[1]) {
		t.Error("it was not closed with its own")
	}
}

// askAnyhow says something and waits for it to come back, or for the end.
func (r *rig) askAnyhow(words string) {
	c, err := dialer("").Dial("tcp", r.address)
	if err != nil {
		return // it was reset at once
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	io.WriteString(c, words)
	io.ReadFull(c, make([]byte, len(words)))
}

// byHunch calls a backend down that may well be working.
var byHunch = Cause{Source: "probe", Reason: "no answer in time", Unsure: true}

// It must get no new sessions, but those it has must go on until it is known to be down.
func TestABackendThatIsNotSurelyDownKeepsItsSessions(t *testing.T) {
	r := serve(t, Config{OnDown: OnDownClose, Balance: picker.First}, echoes(t, 2)...)
	p, b := r.Pool(), r.backends
	c := r.connect()
	expectEcho(t, c, "x")
	for _, h := range []Health{Down, Up, Down} {
		p.SetHealth(b[0], h, byHunch)
		r.closings.Wait()
		expectEcho(t, c, h.String())
	}
	later := r.connect()
	expectEcho(t, later, "y")
	if got := r.Backends(); got[0].Total != 1 || got[1].Total != 1 || got[0].Usable {
		t.Errorf("%+v", got)
	}
	p.SetHealth(b[0], Down, Cause{Source: "probe", Reason: "connection refused"})
	expectReset(t, c)
	r.awaitEnded(relay.BackendDown, 1)
	p.SetHealth(b[0], Down, byHunch)
	r.closings.Wait()
	expectEcho(t, later, "z")
}

// A reason that becomes sure must not have sessions closed that were closed before, nor one
// that is not sure any more bring back what it was.
func TestSessionsAreClosedOnceWhateverTheReasonBecomes(t *testing.T) {
	r := serve(t, Config{OnDown: OnDownClose}, echoes(t, 1)...)
	c := r.connect()
	expectEcho(t, c, "x")
	for range 3 {
		r.Pool().SetHealth(r.backends[0], Down, byHunch)
		r.Pool().SetHealth(r.backends[0], Down, byProbe)
		r.closings.Wait()
	}
	expectReset(t, c)
	r.awaitEnded(relay.BackendDown, 1)
	if l := r.log.of("sessions closed"); len(l) != 1 {
		t.Errorf("logged %v", l)
	}
}
