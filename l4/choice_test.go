package l4

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// excuses returns who is excluded and why.
func (c Choice) excuses() map[string]string {
	all := make(map[string]string)
	for _, e := range c.Excluded {
		all[e.Backend] = e.Reason
	}
	return all
}

// A certain choice is where the client then goes, time and again; another one is one of the
// candidates.
func TestAClientGoesWhereItIsSaidToGo(t *testing.T) {
	for _, policy := range picker.Policies() {
		for _, n := range []int{1, 4, fewBackends + 4} {
			t.Run(fmt.Sprint(policy, "/", n), func(t *testing.T) {
				r := serve(t, Config{Balance: policy}, talkers(t, n, says)...)
				for i, b := range r.backends {
					r.Pool().SetHealth(b, Up, byProbe)
					if i%4 == 2 {
						r.Pool().SetHealth(b, Down, byProbe)
					}
				}
				r.Pool().building.Wait()
				certain := n == 1 || slices.Contains([]string{picker.SourceHash, picker.Maglev, picker.First}, policy)
				for i := range 12 {
					source := fmt.Sprintf("127.0.0.%d", i+2)
					for range 2 {
						said := r.Choose(netip.MustParseAddr(source))
						if said.Certain != certain || said.Balance != policy || said.Key != picker.Hash(netip.MustParseAddr(source)) ||
							said.Digest == 0 || said.Why == "" || len(said.Candidates)+len(said.Excluded) != n {
							t.Fatalf("%+v", said)
						}
						if !slices.ContainsFunc(said.Candidates, func(c Candidate) bool { return c.Backend == said.Backend && c.Tier == 1 }) {
							t.Errorf("%s is no candidate: %+v", said.Backend, said.Candidates)
						}
						c := r.connectFrom(source)
						got := "b" + read(t, c, 1)
						c.Close()
						if got != said.Backend && (certain || policy == picker.RoundRobin) {
							t.Errorf("%s went to %s, said was %s: %s", source, got, said.Backend, said.Why)
						}
					}
				}
			})
		}
	}
}

func TestAChoiceUsesUpNoTurn(t *testing.T) {
	for _, policy := range picker.Policies() {
		p, b, _ := pool(t, policy, plain(3)...)
		p.SetHealth(b[0], Up, byProbe)
		p.SetHealth(b[1], Up, byProbe)
		view := p.view.Load()
		var got []string
		for i := range 6 {
			for range i {
				p.choice(uint64(i))
			}
			got = append(got, p.pick(0))
		}
		if policy == picker.RoundRobin && !slices.Equal(got, []string{"b1", "b2", "b1", "b2", "b1", "b2"}) {
			t.Errorf("%s: %v", policy, got)
		}
		for _, b := range b {
			if n := b.active.Load(); n != 0 {
				t.Errorf("%s: %d sessions are reserved", policy, n)
			}
		}
		if p.view.Load() != view {
			t.Errorf("%s: the view is another one", policy)
		}
	}
}

func TestEachExclusionHasItsReason(t *testing.T) {
	cfgs := plain(7)
	cfgs[2].Weight = 0
	cfgs[4].MaxConnections = 1
	cfgs[6].Priority = 1
	r := assemble(t, Config{Balance: picker.First}, cfgs...)
	p, b := r.Pool(), r.backends
	p.SetAdmin(b[0], Drain, Cause{Source: "admin", Reason: "new disk"})
	p.SetAdmin(b[1], Maint, Cause{Source: "admin", Reason: "new rack"})
	p.SetHealth(b[3], Down, byProbe)
	b[4].take()
	defer b[4].give()
	p.Eject(b[5], byDial)
	c := r.Choose(netip.MustParseAddr("192.0.2.77"))
	want := map[string]string{
		"b1": "drain: new disk",
		"b2": "maint: new rack",
		"b3": "its weight is 0",
		"b4": "down: 2 in a row",
		"b5": "has 1 sessions of the 1 that it may have (max_connections)",
	}
	if got := c.excuses(); fmt.Sprint(got) != fmt.Sprint(want) || len(c.Excluded) != len(want) {
		t.Errorf("%v", got)
	}
	// The backup is used before one that is ejected.
	if c.Backend != "b7" || !c.Certain || c.Why != "it is the only one to be had (priority 1, unknown)" {
		t.Errorf("%+v", c)
	}
	if len(c.Candidates) != 2 || c.Candidates[0].Backend != "b7" || c.Candidates[0].Tier != 2 || c.Candidates[1].Backend != "b6" || c.Candidates[1].Tier != 3 {
		t.Errorf("%+v", c.Candidates)
	}
	p.SetHealth(b[6], Down, byProbe)
	if c := r.Choose(netip.MustParseAddr("192.0.2.77")); c.Backend != "b5" && c.Backend != "b6" {
		t.Errorf("%+v", c)
	}
}

func TestNoChoiceHasItsReason(t *testing.T) {
	client := netip.MustParseAddr("192.0.2.77")
	r := assemble(t, Config{Balance: picker.First}, plain(2)...)
	p, b := r.Pool(), r.backends
	expect := func(backend, why string) {
		t.Helper()
		c := r.Choose(client)
		if c.Backend != backend || !c.Certain || c.Why != why {
			t.Errorf("%+v, want %q: %s", c, backend, why)
		}
	}
	expect("b1", "it is the first in the file that may be used")
	if err := r.Pause(patience); err != nil {
		t.Fatal(err)
	}
	expect("", "the service is paused: clients wait")
	r.Resume()
	r.reconfigure(Config{Balance: picker.First, Deny: prefixes(t, "192.0.2.0/24")})
	expect("", "the client is denied (deny)")
	r.reconfigure(Config{Balance: picker.First, Allow: prefixes(t, "192.0.3.0/24")})
	expect("", "the client is not among those allowed (allow)")
	r.reconfigure(Config{Balance: picker.First})
	for i, cfg := range plain(2) {
		cfg.MaxConnections = 1
		r.edit(Edit{Update: map[*Backend]BackendConfig{b[i]: cfg}})
		b[i].take()
	}
	expect("", "every usable backend has all the sessions it may have (max_connections)")
	b[0].give()
	b[1].give()
	p.SetHealth(b[0], Down, byProbe)
	p.SetAdmin(b[1], Drain, byAdmin)
	expect("", "no backend is usable")
	r.edit(Edit{Remove: b})
	expect("", "no backend is usable")
}

func TestAWritersRivalsAreExcluded(t *testing.T) {
	p, b, _ := writerPool(t, ConflictKeep, plain(3)...)
	p.SetHealth(b[0], Up, byProbe)
	p.SetHealth(b[1], Up, byProbe)
	c := p.choice(1)
	if c.Backend != "" || c.excuses()["b1"] != "no writer is chosen before every backend has been probed once" || c.excuses()["b3"] != "unknown: not probed yet" {
		t.Errorf("%+v", c)
	}
	p.SetHealth(b[2], Down, byProbe)
	c = p.choice(1)
	if c.Backend != "b1" || c.Why != "it is the only one to be had" || !strings.HasPrefix(c.excuses()["b2"], "conflict: claims to be the writer, but b1 is") {
		t.Errorf("%+v", c)
	}
}

// A full backend passes its clients on, and the choice knows.
func TestAChoicePassesOverFullBackends(t *testing.T) {
	for _, policy := range []string{picker.SourceHash, picker.Maglev, picker.First} {
		cfgs := plain(4)
		for i := range cfgs {
			cfgs[i].MaxConnections = 1
		}
		p, b, _ := pool(t, policy, cfgs...)
		for range b {
			said := p.choice(42)
			got, _ := p.choose(42, nil)
			if got == nil || got.Name() != said.Backend || !said.Certain {
				t.Fatalf("%s: chose %v, said was %+v", policy, got, said)
			}
		}
		if c := p.choice(42); c.Backend != "" || len(c.Excluded) != 4 {
			t.Errorf("%s: %+v", policy, c)
		}
		if _, why := p.choose(42, nil); why != relay.BackendsFull {
			t.Error(why)
		}
	}
}

func TestValidateRefusesWhatNewAndAddRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		cfg      Config
		backends []BackendConfig
	}{
		"no name":     {Config{}, plain(1)},
		"a policy":    {Config{Name: "svc", Balance: "none such"}, plain(1)},
		"no address":  {Config{Name: "svc"}, []BackendConfig{{Name: "x"}}},
		"a weight":    {Config{Name: "svc"}, []BackendConfig{{Address: "a:1", Weight: 257}}},
		"names twice": {Config{Name: "svc"}, append(plain(2), plain(1)...)},
	} {
		if err := Validate(c.cfg, c.backends); err == nil {
			t.Errorf("%s: valid", name)
		}
	}
	if err := Validate(Config{Name: "svc", Balance: picker.Maglev}, plain(3)); err != nil {
		t.Error(err)
	}
}
