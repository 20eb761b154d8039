package l4

import (
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
