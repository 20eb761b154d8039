package l4

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// C47
func TestWithoutDescriptorsNewClientsAreResetAndOldOnesLive(t *testing.T) {
	const sessions = 5
	budget := NewDescriptors(2*sessions+8, 8)
	first := serve(t, Config{Name: "first", Descriptors: budget}, echoes(t, 1)...)
	second := serve(t, Config{Name: "second", Descriptors: budget}, echoes(t, 1)...)
	begin := time.Now()
	var old []relay.Conn
	for i := range sessions {
		c := []*rig{first, second}[i%2].connect()
		expectEcho(t, c, "x")
		old = append(old, c)
	}
	for range 20 {
		first.expectTurnedAway()
	}
	second.expectTurnedAway()
	first.awaitEnded(relay.Descriptors, 20)
	second.awaitEnded(relay.Descriptors, 1)
	for _, c := range old {
		expectEcho(t, c, "still there")
	}
	lines := first.log.await(t, "shedding clients", 1)
	if most := 1 + int(time.Since(begin)/time.Second); len(lines) > most {
		t.Errorf("%d lines in %v", len(lines), time.Since(begin))
	}
	lines[0].expect(t, line{"msg": "shedding clients", "level": "WARN", "service": "first", "reason": "descriptor limit", "limit": "18", "sessions": "3", "clients": "1"})
	if n := len(first.log.of("session")); n != 0 {
		t.Errorf("%d of them were logged as sessions", n)
	}
	old[0].Close()
	first.awaitActive(2)
	expectEcho(t, first.connect(), "x")
	within(t, "both to close", func() { first.Close(); second.Close() }) // then the budget is whole again
}

// C47: no client that is shed is missing from the numbers.
func TestSheddingIsSaidOnceASecondWithTheNumberOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := assemble(t, Config{Descriptors: NewDescriptors(10, 0), SessionLog: LogOff})
		shed := func(n int) {
			for range n {
				(&Session{svc: r.Service, cfg: r.cfg()}).log(relay.End{Who: relay.Sluice, Why: relay.Descriptors})
			}
		}
		shed(7)
		time.Sleep(throttlePeriod)
		synctest.Wait()
		shed(3)
		r.Close()
		var got []string
		for _, l := range r.log.of("shedding clients") {
			got = append(got, l["clients"])
		}
		if want := []string{"1", "6", "3"}; !slices.Equal(got, want) {
			t.Errorf("logged %v, want %v", got, want)
		}
	})
}

func TestTheBudgetOfDescriptors(t *testing.T) {
	for _, c := range []struct {
		name            string
		d               *Descriptors
		limit, sessions int
	}{
		{"nil", nil, 0, math.MaxInt64 / perSession},
		{"no limit", NewDescriptors(0, 100), 0, math.MaxInt64 / perSession},
		{"negative", NewDescriptors(-1, 0), 0, math.MaxInt64 / perSession},
		{"some", NewDescriptors(100, 20), 100, 40},
		{"odd", NewDescriptors(101, 20), 101, 40},
		{"more reserved than there are", NewDescriptors(10, 20), 10, 1},
	} {
		if c.d.Limit() != c.limit || c.d.Sessions() != int64(c.sessions) {
			t.Errorf("%s: %d sessions of %d, want %d of %d", c.name, c.d.Sessions(), c.d.Limit(), c.sessions, c.limit)
		}
		n := 0
		for n < 100 && c.d.take(perSession) {
			n++
		}
		if n != min(100, c.sessions) {
			t.Errorf("%s: %d sessions fit", c.name, n)
		}
		for range n {
			c.d.give(perSession)
		}
		if !c.d.take(perSession) {
			t.Errorf("%s: given back, but not there", c.name)
		}
	}
}
