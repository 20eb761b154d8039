package l4

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// A rolling restart: b1 was ejected while it was away and is back, then b2 goes.
func TestAClientThatAllOthersFailIsSentToAnEjectedBackend(t *testing.T) {
	r := serve(t, Config{}, backend(t, says("b1")).config("b1"), refusing(t, "b2"))
	r.Pool().Eject(r.backends[0], byDial)
	for range 10 {
		expectRead(t, r.connect(), "b1")
	}
	if n := r.ended(relay.ConnectFailed); n != 0 {
		t.Errorf("%d clients were refused although a backend accepts", n)
	}
	if b := r.Backends()[0]; b.Usable || !b.Ejected {
		t.Errorf("%+v", b)
	}
}

func TestAnEjectedBackendTakesWhatTheFullOnesCannot(t *testing.T) {
	full := backend(t, echo).config("full")
	full.MaxConnections = 1
	r := serve(t, Config{}, full, backend(t, says("spare")).config("spare"))
	r.Pool().Eject(r.backends[1], byDial)
	held := r.connect()
	expectEcho(t, held, "x")
	expectRead(t, r.connect(), "spare")
}

func TestABackendThatProbesFoundDownIsNoLastResort(t *testing.T) {
	p, b, _ := pool(t, picker.RoundRobin, plain(3)...)
	p.Eject(b[0], byDial)
	p.SetHealth(b[1], Down, byProbe)
	tried := []*Backend{b[2]}
	if got, _ := p.choose(0, tried); got != b[0] {
		t.Errorf("after the usable one comes %v, want the ejected one", got)
	}
	tried = append(tried, b[0])
	if got, why := p.choose(0, tried); got != nil || why != relay.NoBackend {
		t.Errorf("after all came %v, %v", got, why)
	}
}

// Thousands of changes make few views, and the last one is right.
func TestChangesOfLargeTablesWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b, _ := pool(t, picker.Maglev, plain(1000)...)
		for _, b := range b {
			p.SetHealth(b, Up, byProbe)
		}
		synctest.Wait()
		time.Sleep(longestRest + time.Nanosecond)
		synctest.Wait()
		v := p.view.Load()
		if len(v.tiers) != 1 || v.tiers[0].health != Up || len(v.tiers[0].backends) != 1000 || !v.done {
			t.Errorf("%d tiers after the wait", len(v.tiers))
		}
		if v.version > 500 {
			t.Errorf("%d views were made of 1000 changes", v.version)
		}
		p.close()
		p.SetHealth(b[0], Down, byProbe)
		synctest.Wait()
		if p.view.Load() != v {
			t.Error("a view was made after the end")
		}
	})
}

// The goroutine that makes views never shows one that is older than what is seen.
func TestAnOlderViewIsNotShown(t *testing.T) {
	p, b, _ := pool(t, picker.RoundRobin, plain(2)...)
	p.mu.Lock()
	old := p.draft()
	p.mu.Unlock()
	if err := old.complete(p.balance); err != nil {
		t.Fatal(err)
	}
	p.SetHealth(b[0], Up, byProbe)
	seen := p.view.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.show(old); p.view.Load() != seen {
		t.Error("the older view is shown")
	}
}

func TestTheReasonShownIsOfWhatKeepsABackendOut(t *testing.T) {
	p, b, _ := pool(t, picker.RoundRobin, plain(2)...)
	probed := func(reason string) Cause { return Cause{Source: "probe", Reason: reason} }
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"ejected", func() { p.Eject(b[0], byDial) }, byDial.Reason},
		{"up by probe, still ejected", func() { p.SetHealth(b[0], Up, probed("passed")) }, byDial.Reason},
		{"down", func() { p.SetHealth(b[0], Down, probed("503")) }, "503"},
		{"ejection over, still down", func() { p.Restore(b[0], Cause{Source: "dial", Reason: "time over"}) }, "503"},
		{"up", func() { p.SetHealth(b[0], Up, probed("2 passed")) }, "2 passed"},
	} {
		step.do()
		if got := b[0].why().reason; got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}
}

func TestDeniedClientsDoNotUseUpTheLimitOfConnections(t *testing.T) {
	r := serve(t, Config{MaxConnections: 1, Deny: prefixes(t, "127.0.0.2/32")}, echoes(t, 1)...)
	held := r.connect()
	expectEcho(t, held, "x")
	for range 5 {
		r.expectTurnedAwayFrom("127.0.0.2")
	}
	r.awaitEnded(relay.Denied, 5)
	r.expectTurnedAway()
	r.awaitEnded(relay.LimitConnections, 1)
}

// The backend's end counts from when it came, however long the client takes to close.
func TestASlowClientDoesNotHideThatItsBackendEndedAtOnce(t *testing.T) {
	r := serve(t, Config{}, backend(t, func(relay.Conn) {}).config("b"))
	heard := observe(r.backends[0])
	c := r.connect()
	expectDrain(t, c, "", "eof")
	late := time.NewTimer(2 * atOnce)
	defer late.Stop()
	<-late.C
	c.Close()
	eventually(t, "the end", func() bool { return heard.atOnce.Load() == 1 })
}

// Junk that a server ends the connection for is no evidence against it.
func TestAnEndInOrderAfterBytesOfTheClientIsNoneAtOnce(t *testing.T) {
	r := serve(t, Config{}, backend(t, func(c relay.Conn) { read(t, c, 4) }).config("b"))
	heard := observe(r.backends[0])
	c := r.connect()
	send(t, c, "junk")
	expectDrain(t, c, "", "eof")
	c.Close()
	r.log.await(t, "session", 1)
	if n := heard.atOnce.Load(); n != 0 {
		t.Errorf("%d ends at once", n)
	}
}
