package l4

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

func TestTheLastUsableBackendIsNeverEjected(t *testing.T) {
	p, b, _ := pool(t, picker.RoundRobin, plain(3)...)
	if !p.Eject(b[0], byDial) || !p.Eject(b[1], byDial) {
		t.Fatal("refused while others are usable")
	}
	if p.Eject(b[2], byDial) {
		t.Error("the last usable one was ejected")
	}
	if !p.Eject(b[0], byDial) {
		t.Error("the one ejected already is not called so")
	}
	if p.shape() != "b3" {
		t.Errorf("tiers %q", p.shape())
	}
	if p.Restore(b[2], byDial) || !p.Restore(b[0], byDial) || p.Restore(b[0], byDial) {
		t.Error("Restore tells a wrong story")
	}
}

func TestNeitherADownNorAWeightlessBackendSparesTheLastOne(t *testing.T) {
	backends := plain(3)
	backends[1].Weight = 0
	p, b, _ := pool(t, picker.RoundRobin, backends...)
	p.SetHealth(b[2], Down, byProbe)
	if p.Eject(b[0], byDial) {
		t.Error("ejected, and nothing is left")
	}
}

func TestOfAllEjectedAtOnceExactlyOneStays(t *testing.T) {
	for range 50 {
		const n = 16
		p, b, _ := pool(t, picker.RoundRobin, plain(n)...)
		var ejected atomic.Int64
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				<-start
				if p.Eject(b[i], byDial) {
					ejected.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		if p.usable != 1 || ejected.Load() != n-1 {
			t.Fatalf("%d usable, %d ejected", p.usable, ejected.Load())
		}
	}
}

func TestEjectionsAreLiftedWhenNothingElseIsLeft(t *testing.T) {
	p, b, j := pool(t, picker.RoundRobin, plain(4)...)
	p.Eject(b[0], byDial)
	p.Eject(b[1], byDial)
	p.SetHealth(b[1], Down, byProbe) // ejected and down: not to be lifted
	p.SetHealth(b[2], Down, byProbe)
	j.said()
	p.SetHealth(b[3], Down, byProbe)
	if p.shape() != "b1" {
		t.Errorf("tiers %q", p.shape())
	}
	up := j.of("backend up")
	if len(up) != 1 || up[0]["backend"] != "b1" || up[0]["from"] != "ejected" || up[0]["usable"] != "1" {
		t.Errorf("logged %v", up)
	}
	if n := len(j.of("no usable backend")); n != 0 {
		t.Error("an outage was logged although one was found")
	}
	if b[0].why().reason != reasonLifted || b[0].why().since != b[3].why().since {
		t.Errorf("the one found is said to be up since %v by %q", b[0].why().since, b[0].why().reason)
	}
}

// It was down and ejected, and is the only one when its probes succeed.
func TestABackendThatLiftsItsOwnEjectionIsLoggedOnce(t *testing.T) {
	p, b, j := pool(t, picker.RoundRobin, plain(2)...)
	p.Eject(b[0], byDial)
	p.SetHealth(b[0], Down, byProbe)
	p.SetHealth(b[1], Down, byProbe)
	j.said()
	p.SetHealth(b[0], Up, byProbe)
	if p.shape() != "b1" || b[0].ejected {
		t.Errorf("tiers %q", p.shape())
	}
	if said := j.said(); !slices.Equal(said, []string{"INFO backend up", "INFO usable again"}) {
		t.Errorf("logged %v", said)
	}
	if b[0].why().reason != byProbe.Reason {
		t.Errorf("up by %q", b[0].why().reason)
	}
}

func TestATransitionIsLoggedWithEverythingAnOperatorNeeds(t *testing.T) {
	p, b, j := pool(t, picker.RoundRobin, plain(3)...)
	b[0].active.Store(7)
	base := line{"service": "svc", "backend": "b1", "address": "192.0.2.1:1", "sessions": "7", "total": "3", "level": "INFO"}
	with := func(more line) line {
		l := make(line)
		for _, from := range []line{base, more} {
			for k, v := range from {
				l[k] = v
			}
		}
		return l
	}
	for _, c := range []struct {
		name  string
		apply func()
		want  line
	}{
		{"down", func() { p.SetHealth(b[0], Down, byProbe) }, line{"msg": "backend down", "from": "unknown", "to": "down", "usable": "2", "source": "probe", "reason": "2 in a row"}},
		{"up", func() { p.SetHealth(b[0], Up, byProbe) }, line{"msg": "backend up", "from": "down", "to": "up", "usable": "3", "source": "probe", "reason": "2 in a row"}},
		{"ejected", func() { p.Eject(b[0], byDial) }, line{"msg": "backend down", "from": "up", "to": "ejected", "usable": "2", "source": "dial", "reason": "connection refused"}},
		{"restored", func() { p.Restore(b[0], byAdmin) }, line{"msg": "backend up", "from": "ejected", "to": "up", "usable": "3", "source": "admin", "reason": "asked to"}},
	} {
		j.said()
		for range 3 { // telling it again is no news
			c.apply()
		}
		lines := append(j.of("backend up"), j.of("backend down")...)
		if len(lines) != 1 {
			t.Fatalf("%s: %d lines: %v", c.name, len(lines), lines)
		}
		lines[0].expect(t, with(c.want))
	}
	b[0].active.Store(0)
}

func TestWhatIsOutTwiceOverIsNoNews(t *testing.T) {
	p, b, j := pool(t, picker.RoundRobin, plain(2)...)
	for _, c := range []struct {
		name  string
		apply func()
		want  []string
	}{
		{"ejected", func() { p.Eject(b[0], byDial) }, []string{"INFO backend down"}},
		{"and down", func() { p.SetHealth(b[0], Down, byProbe) }, []string{"DEBUG backend still down"}},
		{"ejection over", func() { p.Restore(b[0], byProbe) }, nil},
		{"ejected again", func() { p.Eject(b[0], byDial) }, nil},
		{"up, but ejected", func() { p.SetHealth(b[0], Up, byProbe) }, []string{"DEBUG backend still down"}},
		{"in use again", func() { p.Restore(b[0], byProbe) }, []string{"INFO backend up"}},
	} {
		c.apply()
		if said := j.said(); !slices.Equal(said, c.want) {
			t.Errorf("%s: logged %v, want %v", c.name, said, c.want)
		}
	}
}

// C41
func TestAnOutageIsSaidOnce(t *testing.T) {
	p, b, j := pool(t, picker.RoundRobin, plain(2)...)
	for range 2 {
		j.said()
		p.SetHealth(b[0], Down, byProbe)
		p.SetHealth(b[1], Down, byProbe)
		p.noUsable("each backend tried failed to connect") // by a session that began before
		said := j.said()
		if want := []string{"INFO backend down", "INFO backend down", "WARN no usable backend"}; !slices.Equal(said, want) {
			t.Errorf("logged %v", said)
		}
		p.SetHealth(b[0], Unknown, byProbe)
		p.SetHealth(b[1], Unknown, byProbe)
	}
	p.SetHealth(b[0], Down, byProbe)
	p.SetHealth(b[1], Down, byProbe)
	j.of("no usable backend")[0].expect(t, line{"msg": "no usable backend", "level": "WARN", "service": "svc", "reason": "every backend is down", "total": "2"})
}

func TestTheTimeAndReasonOfAChangeAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b, _ := pool(t, picker.RoundRobin, plain(2)...)
		added := time.Now()
		time.Sleep(time.Minute)
		p.SetHealth(b[0], Unknown, byProbe) // no change
		if b[0].why().since != added || b[0].why().reason != "not probed yet" {
			t.Errorf("%v, %q", b[0].why().since, b[0].why().reason)
		}
		p.Eject(b[0], byDial)
		if !b[0].why().since.Equal(added.Add(time.Minute)) || b[0].why().reason != byDial.Reason {
			t.Errorf("%v, %q", b[0].why().since, b[0].why().reason)
		}
	})
}

func TestTheEndOfAnOutageTellsHowManyClientsItCost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s") // which no other process takes while it is free
	r := serve(t, Config{Balance: picker.First}, BackendConfig{Address: "unix:" + path, Weight: 1})
	for range 3 {
		r.expectTurnedAway()
	}
	r.awaitEnded(relay.ConnectFailed, 3)
	backendOn(t, "unix", path, echo) // it is back
	eventually(t, "a quiet second", func() bool {
		expectEcho(t, r.connect(), "x")
		return len(r.log.of("usable again")) > 0
	})
	r.log.await(t, "usable again", 1)[0].expect(t, line{"msg": "usable again", "level": "INFO", "service": "svc", "after": "*", "refused": "3"})
	if n := len(r.log.of("no usable backend")); n != 1 {
		t.Errorf("%d begins of an outage", n)
	}
}

func TestAPoolThatNobodyMayUseSaysSo(t *testing.T) {
	p, _, j := pool(t, picker.RoundRobin, BackendConfig{Address: "a:1"})
	if said := j.said(); !slices.Equal(said, []string{"WARN no usable backend"}) {
		t.Errorf("logged %v", said)
	}
	if _, err := p.Add(BackendConfig{Address: "b:1", Weight: 1}); err != nil {
		t.Fatal(err)
	}
	if said := j.said(); !slices.Equal(said, []string{"INFO usable again"}) {
		t.Errorf("logged %v", said)
	}
}
