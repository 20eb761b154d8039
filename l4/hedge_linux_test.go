package l4

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

func hedgeAfter(d time.Duration) ConnectConfig {
	return ConnectConfig{HedgeAfter: d, Timeout: patience}
}

func TestASilentBackendCostsNoMoreThanTheHedge(t *testing.T) {
	d := NewDescriptors(100, 0)
	r := serve(t, Config{Connect: hedgeAfter(30 * time.Millisecond), Descriptors: d}, append(echoes(t, 2), blackhole(t, "hole"))...)
	heard := observe(r.backends[2])
	const clients = 12
	for range clients {
		c := r.connect()
		expectEcho(t, c, "x")
		c.Close()
	}
	r.awaitEnded(relay.EOF, clients)
	hole := r.Backends()[2]
	eventually(t, "the losing dials to end", func() bool { return r.Backends()[2].Sessions == 0 })
	if hole.Total != 0 || len(hole.DialFailures) != 0 || len(heard.failures()) != 0 || hole.Ejected {
		t.Errorf("a dial that lost is nobody's fault: %+v, heard %v", hole, heard.failures())
	}
	hedged := 0
	for _, l := range r.log.of("session") {
		if l["hedged"] != "" {
			hedged++
			if l["attempts"] != "2" || l["backend"] == "hole" {
				t.Errorf("logged %v", l)
			}
		}
	}
	if hedged != clients/3 {
		t.Errorf("%d of %d were hedged, one of three backends is silent", hedged, clients)
	}
}

func TestTheFirstToAnswerHasTheSession(t *testing.T) {
	hole, open := blackholeUntil(t, "slow")
	r := serve(t, Config{Balance: picker.First, Connect: hedgeAfter(30 * time.Millisecond)}, hole, blackhole(t, "silent"))
	c := r.connect()
	eventually(t, "both to be dialled", func() bool { return r.Backends()[0].Sessions == 1 && r.Backends()[1].Sessions == 1 })
	open()
	r.awaitRelayed(1)
	if s := r.Backends(); s[0].Total != 1 || s[1].Total != 0 {
		t.Errorf("%+v", s)
	}
	eventually(t, "the other dial to end", func() bool { return r.Backends()[1].Sessions == 0 })
	c.Close()
}

func TestAHedgeThatFailsIsBlamedAndTheNextIsTried(t *testing.T) {
	r := serve(t, Config{Balance: picker.First, Connect: hedgeAfter(30 * time.Millisecond)},
		blackhole(t, "hole"), refusing(t, "dead"), backend(t, echo).config("echo"))
	expectEcho(t, r.connect(), "x")
	if s := r.Backends(); s[1].DialFailures["refused"] != 1 || s[2].Total != 1 {
		t.Errorf("%+v", s)
	}
}

func TestWithNoOtherBackendTheSilentOneIsWaitedFor(t *testing.T) {
	const timeout = 300 * time.Millisecond
	r := serve(t, Config{Connect: ConnectConfig{HedgeAfter: 20 * time.Millisecond, Timeout: timeout}}, blackhole(t, "hole"))
	began := time.Now()
	r.expectTurnedAway()
	if took := time.Since(began); took < timeout {
		t.Errorf("given up after %v", took)
	}
	r.awaitEnded(relay.ConnectFailed, 1)
	if f := r.dialFailures(); f["timeout"] != 1 {
		t.Errorf("dials failed of %v", f)
	}
	hole, open := blackholeUntil(t, "slow")
	r = serve(t, Config{Connect: hedgeAfter(20 * time.Millisecond)}, hole)
	c := r.connect()
	eventually(t, "the dial to be under way", func() bool { return r.Backends()[0].Sessions == 1 })
	open()
	r.awaitRelayed(1)
	c.Close()
}

func TestAServiceEndsWhileItsDialsAreHedged(t *testing.T) {
	r := serve(t, Config{Connect: hedgeAfter(10 * time.Millisecond)}, blackhole(t, "one"), blackhole(t, "two"))
	c := r.connect()
	eventually(t, "both to be dialled", func() bool { return r.Backends()[0].Sessions == 1 && r.Backends()[1].Sessions == 1 })
	within(t, "Close to return", r.Close)
	expectReset(t, c)
}

// Without a descriptor to spare nobody is hedged, and nobody is worse off.
func TestAtTheDescriptorLimitNobodyIsHedged(t *testing.T) {
	hole, open := blackholeUntil(t, "slow")
	r := serve(t, Config{Balance: picker.First, Connect: hedgeAfter(10 * time.Millisecond), Descriptors: NewDescriptors(perSession, 0)},
		hole, backend(t, echo).config("other"))
	c := r.connect()
	eventually(t, "the dial to be under way", func() bool { return r.Backends()[0].Sessions == 1 })
	open()
	r.awaitRelayed(1)
	if s := r.Backends(); s[0].Total != 1 || s[1].Total != 0 {
		t.Errorf("%+v", s)
	}
	c.Close()
}
