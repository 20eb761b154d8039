package app

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestPeopleTakeABackendOutAndBack(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	for i, state := range []string{api.Drain, api.Maint, api.Ready, api.Ready} {
		v, err := r.SetAdmin(someone, "web", "a", state)
		if err != nil || v.Admin != state || v.Usable != (state == api.Ready) || v.Name != "a" {
			t.Errorf("%s: %+v, %v", state, v, err)
		}
		if r.Revision() != uint64(i)+2 {
			t.Errorf("revision %d", r.Revision())
		}
	}
	r.log.waitFor(t, `msg=changed service=web backend=a change=drained who=ann`)
	if n := strings.Count(r.log.String(), "msg=changed"); n != 3 {
		t.Errorf("%d changes were logged, a fourth was none", n)
	}
	r.log.waitFor(t, `msg="backend down" service=web backend=a address=`+a.address+` source=admin reason="drained by ann"`)
}

func TestInMaintenanceNobodyProbesAndThenAtOnce(t *testing.T) {
	a := talk(t, "a")
	r := run(t, "services: [{name: web, listen: '"+anyPort+"', check: {interval: 20ms, timeout: 5s}, backends: ["+a.yaml()+"]}]")
	r.log.waitFor(t, `msg="backend up"`)
	if _, err := r.SetAdmin(someone, "web", "a", api.Maint); err != nil {
		t.Fatal(err)
	}
	n := a.accepted.Load() // one that was under way may be counted late
	r.becomes("services: [{name: web, listen: '" + anyPort + "', check: {interval: 1h, timeout: 5s}, backends: [" + a.yaml() + "]}]")
	if m := r.member(t, "a"); m.watch == nil {
		t.Error("nobody watches its sessions")
	}
	if v := r.backend("web", "a"); v.Health != "unknown" || v.Admin != api.Maint {
		t.Errorf("%+v", v)
	}
	if now := a.accepted.Load(); now > n+1 {
		t.Errorf("%d probes in maintenance", now-n)
	}
	n = a.accepted.Load()
	if _, err := r.SetAdmin(someone, "web", "a", api.Ready); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is probed at once", func() bool { return a.accepted.Load() > n && r.backend("web", "a").Health == "up" })
}

func (r *rig) member(t *testing.T, name string) *member {
	t.Helper()
	_, m, err := r.lookup("web", name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAWeightIsInForceAtOnceAndInTheConfiguration(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	v, err := r.SetWeight(someone, "web", "a", 0)
	if err != nil || v.Weight != 0 || v.Usable {
		t.Errorf("%+v, %v", v, err)
	}
	for range 3 {
		if g := visit(t, r.listen("web")); g.name != "b" {
			t.Errorf("a client is at %s", g.name)
		}
	}
	agree(t, r.App)
	r.log.waitFor(t, `change="weight 0, was 1"`)
}

func TestABackendIsAddedAndRemoved(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml()))
	three := 3
	v, err := r.Add(someone, "web", api.NewBackend{Address: b.address, Weight: &three, Priority: 0, MaxConnections: 9})
	if err != nil || v.Name != b.address || v.Weight != 3 || v.MaxConnections != 9 || !v.Usable {
		t.Fatalf("%+v, %v", v, err)
	}
	var g *guest
	for g == nil || g.name != "b" {
		g = visit(t, r.listen("web"))
	}
	long := time.Hour
	removed, err := r.Remove(someone, "web", b.address, &long)
	if err != nil || removed.Sessions == 0 || removed.Within != api.Duration(time.Hour) {
		t.Errorf("%+v, %v", removed, err)
	}
	g.lives()
	if v, _ := r.Service("web"); len(v.Backends) != 2 || !v.Backends[1].Leaving {
		t.Errorf("%+v", v.Backends)
	}
	if p50, _ := r.metrics.ConnectQuantiles("web", b.address); p50 != 0 {
		t.Error("its metrics are still there")
	}
	g.Close()
	agree(t, r.App)
}

func TestAPauseHoldsClientsUntilItIsOver(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	if err := r.Pause(someone, "web", time.Hour); err != nil {
		t.Fatal(err)
	}
	if v, _ := r.Service("web"); v.Paused == nil || time.Duration(*v.Paused) > time.Hour {
		t.Errorf("%+v", v.Paused)
	}
	if p, err := r.Pick("web", netip.MustParseAddr("10.0.0.1")); err != nil || p.Choice != "" || p.Why != "the service is paused: clients wait" {
		t.Errorf("%+v, %v", p, err)
	}
	got := make(chan error, 1)
	go func() {
		g, err := knock(r.listen("web"))
		if err == nil {
			g.Close()
		}
		got <- err
	}()
	eventually(t, "the client waits", func() bool { v, _ := r.Service("web"); return v.Held == 1 })
	for _, want := range []bool{true, false} {
		if was, err := r.Resume(someone, "web"); was != want || err != nil {
			t.Errorf("it was paused: %v, %v", was, err)
		}
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestSessionsAreSortedFilteredAndKilled(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	guests := []*guest{visit(t, r.listen("web")), visit(t, r.listen("web")), visit(t, r.listen("web"))}
	for range 3 {
		guests[1].lives()
	}
	find := func(f api.Filter, order string, limit, want int) []api.Session {
		t.Helper()
		s, err := r.Sessions(f, order, limit)
		if err != nil || s.Total != want {
			t.Fatalf("%+v: %+v, %v; want %d", f, s, err, want)
		}
		return s.Sessions
	}
	all := find(api.Filter{}, "", 0, 3)
	if !slices.IsSortedFunc(all, func(x, y api.Session) int { return x.Start.Compare(y.Start) }) {
		t.Errorf("by age: %+v", all)
	}
	if s := find(api.Filter{}, "bytes", 1, 3); len(s) != 1 || s[0].Client != guests[1].LocalAddr().String() || s[0].Backend != "b" {
		t.Errorf("by bytes: %+v", s)
	}
	if s := find(api.Filter{}, "backend", 0, 3); s[0].Backend != "a" || s[2].Backend != "b" {
		t.Errorf("by backend: %+v", s)
	}
	if s := find(api.Filter{}, "client", 0, 3); s[0].Client > s[1].Client || s[1].Client > s[2].Client {
		t.Errorf("by client: %+v", s)
	}
	find(api.Filter{Service: "web", Backend: "a"}, "", 0, 2)
	find(api.Filter{Client: "127.0.0.1"}, "", 0, 3)
	find(api.Filter{Client: "127.0.0.0/8"}, "", 0, 3)
	find(api.Filter{Client: "::ffff:127.0.0.1"}, "", 0, 3)
	find(api.Filter{Client: "10.0.0.0/8"}, "", 0, 0)
	find(api.Filter{MinAge: api.Duration(time.Hour)}, "", 0, 0)
	if n, err := r.Kill(someone, api.Filter{ID: all[0].ID}); n != 1 || err != nil {
		t.Errorf("%d killed, %v", n, err)
	}
	if n, err := r.Kill(someone, api.Filter{Service: "web", Backend: "b"}); n != 1 || err != nil {
		t.Errorf("%d killed, %v", n, err)
	}
	if guests[1].ended() == nil {
		t.Error("the session of b goes on")
	}
	_, err := r.Kill(someone, api.Filter{ID: all[0].ID})
	refused(t, err, api.CodeNotFound, "it has ended, or never was")
	r.log.waitFor(t, `change="1 session killed: the one with id `+all[0].ID+`" who=ann`)
	r.log.waitFor(t, `change="1 session killed: all of the backend" who=ann`)
}

func TestAPickTellsWhoAndWhy(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, webWith(", balance: maglev", anyPort, a.yaml(), b.yaml("weight: 0")))
	p, err := r.Pick("web", netip.MustParseAddr("::ffff:10.1.2.3"))
	if err != nil || p.Choice != "a" || p.Source != "10.1.2.3" || !p.Certain || p.Balance != "maglev" || len(p.Candidates) != 1 || len(p.Key) != 16 || len(p.Digest) != 16 {
		t.Errorf("%+v, %v", p, err)
	}
	if len(p.Excluded) != 1 || p.Excluded[0] != (api.Excluded{Backend: "b", Reason: "its weight is 0"}) {
		t.Errorf("%+v", p.Excluded)
	}
}

func TestFailuresTellOfEachAttempt(t *testing.T) {
	a := talk(t, "a")
	r := run(t, webWith(", balance: first", anyPort, "{address: '127.0.0.1:1', name: dead}", a.yaml()))
	visit(t, r.listen("web")).Close()
	eventually(t, "it is told", func() bool { return len(r.Failures("web", 0)) == 1 })
	f := r.Failures("", 5)
	if len(f) != 1 || f[0].Backend != "a" || len(f[0].Attempts) != 1 || f[0].Attempts[0].Backend != "dead" || f[0].Attempts[0].Error == "" {
		t.Errorf("%+v", f)
	}
	if other := r.Failures("other", 0); other == nil || len(other) != 0 {
		t.Errorf("%+v", other)
	}
}

// Each refusal says what is wrong and what there is.
func TestRefusalsSayWhatThereIs(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml()))
	heavy, negative := 300, -time.Second
	add := func(service string, n api.NewBackend) error { _, err := r.Add(someone, service, n); return err }
	sessions := func(f api.Filter, order string) error { _, err := r.Sessions(f, order, 0); return err }
	kill := func(f api.Filter) error { _, err := r.Kill(someone, f); return err }
	admin := func(s, b, state string) error { _, err := r.SetAdmin(someone, s, b, state); return err }
	weight := func(s, b string, w int) error { _, err := r.SetWeight(someone, s, b, w); return err }
	remove := func(s, b string, d *time.Duration) error { _, err := r.Remove(someone, s, b, d); return err }
	resume := func(s string) error { _, err := r.Resume(someone, s); return err }
	pick := func(s string, a netip.Addr) error { _, err := r.Pick(s, a); return err }
	explain := func(s, b string) error { _, err := r.Explain(s, b, time.Now()); return err }
	const noWeb, noBackend = `no service "wbe": there is web`, `no backend "x" in service "web": there is a`
	for _, c := range []struct {
		err        error
		code, says string
	}{
		{admin("web", "a", "off"), api.CodeInvalid, `state "off": want ready, drain or maint`},
		{admin("wbe", "a", "drain"), api.CodeNotFound, noWeb},
		{admin("web", "x", "drain"), api.CodeNotFound, noBackend},
		{weight("web", "a", 257), api.CodeInvalid, "weight 257: want 0 (no new sessions) to 256"},
		{weight("web", "a", -1), api.CodeInvalid, "weight -1"},
		{weight("wbe", "a", 1), api.CodeNotFound, noWeb},
		{weight("web", "x", 1), api.CodeNotFound, noBackend},
		{add("wbe", api.NewBackend{Address: b.address}), api.CodeNotFound, noWeb},
		{add("web", api.NewBackend{Address: b.address, Name: "a"}), api.CodeConflict, `service "web" has a backend "a" already`},
		{add("web", api.NewBackend{Address: "here", Weight: &heavy, Priority: -1, MaxConnections: -1}), api.CodeInvalid, "max_connections: -1; allowed: 0 (no limit) or more"},
		{add("web", api.NewBackend{Address: "here", Weight: &heavy}), api.CodeInvalid, "weight: 300; allowed: 0 (no new sessions) to 256"},
		{add("web", api.NewBackend{Address: b.address, Name: "a b"}), api.CodeInvalid, `name: "a b" has spaces`},
		{add("web", api.NewBackend{Address: r.listen("web")}), api.CodeInvalid, "it would connect to itself in a loop"},
		{remove("wbe", "a", nil), api.CodeNotFound, noWeb},
		{remove("web", "x", nil), api.CodeNotFound, noBackend},
		{remove("web", "a", nil), api.CodeConflict, `"a" is the last backend of "web"`},
		{remove("web", "a", &negative), api.CodeInvalid, "within -1s"},
		{r.Pause(someone, "web", 0), api.CodeInvalid, "for 0s: want above 0, at most 1h"},
		{r.Pause(someone, "web", 2*time.Hour), api.CodeInvalid, "for 2h0m0s"},
		{r.Pause(someone, "wbe", time.Second), api.CodeNotFound, noWeb},
		{resume("wbe"), api.CodeNotFound, noWeb},
		{kill(api.Filter{}), api.CodeInvalid, "which sessions? name a service, a backend, a client or an id"},
		{kill(api.Filter{ID: "web/1"}), api.CodeNotFound, `no session "web/1"`},
		{kill(api.Filter{ID: "web/x"}), api.CodeInvalid, `session "web/x": want SERVICE/NUMBER`},
		{kill(api.Filter{ID: "web/1", Service: "wbe"}), api.CodeInvalid, `session "web/1" is not of service "wbe"`},
		{kill(api.Filter{Backend: "a"}), api.CodeInvalid, "a backend is of a service"},
		{kill(api.Filter{MinAge: -1}), api.CodeInvalid, "min_age -1ns: cannot be negative"},
		{sessions(api.Filter{Service: "wbe"}, ""), api.CodeNotFound, noWeb},
		{sessions(api.Filter{Service: "web", Backend: "x"}, ""), api.CodeNotFound, noBackend},
		{sessions(api.Filter{Client: "me"}, ""), api.CodeInvalid, `client "me": want an address or a CIDR`},
		{sessions(api.Filter{}, "size"), api.CodeInvalid, `sort "size": want age, bytes, client or backend`},
		{pick("wbe", netip.MustParseAddr("::1")), api.CodeNotFound, noWeb},
		{pick("web", netip.Addr{}), api.CodeInvalid, "source: want an IP address"},
		{explain("wbe", "a"), api.CodeNotFound, noWeb},
		{explain("web", "x"), api.CodeNotFound, noBackend},
	} {
		refused(t, c.err, c.code, c.says)
		if c.err != nil && strings.ContainsRune(c.err.Error(), '\n') {
			t.Errorf("%q has more than a line", c.err)
		}
	}
	if r.Revision() != 1 {
		t.Errorf("what was refused made revision %d", r.Revision())
	}
}

func TestAChangeOfWhatSomebodyElseHasChangedIsRefused(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	seen := r.Revision()
	if _, err := r.SetWeight(api.Mark{If: seen}, "web", "a", 2); err != nil {
		t.Fatal(err)
	}
	_, err := r.SetWeight(api.Mark{If: seen}, "web", "a", 3)
	refused(t, err, api.CodeStale, "you saw revision 1, it is 2 now")
	_, err = r.Reload(api.Mark{If: seen})
	refused(t, err, api.CodeStale, "you saw revision 1")
	if w := r.backend("web", "a").Weight; w != 2 {
		t.Errorf("weight %d", w)
	}
}

func TestAnErrorListsSoManyNamesAndNoMore(t *testing.T) {
	names := make([]string, 25)
	for i := range names {
		names[i] = "b"
	}
	if got := list(names); !strings.HasSuffix(got, "b and 5 more") {
		t.Errorf("%q", got)
	}
	if got := list(nil); got != "none" {
		t.Errorf("%q", got)
	}
}

func TestAChangeTellsItsOwnRevision(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	made := make([]uint64, 20)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			if _, err := r.Set(api.Mark{Who: "ann", Made: &made[i]}, "web", "a", api.Setting{Weight: &i}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	slices.Sort(made)
	if len(slices.Compact(made)) != 20 || made[0] != 2 || made[19] != 21 || r.Revision() != 21 {
		t.Errorf("%v, then %d", made, r.Revision())
	}
	var none uint64
	if _, err := r.SetWeight(api.Mark{Made: &none}, "web", "nobody", 1); err == nil || none != 0 {
		t.Errorf("%v, %d", err, none)
	}
}

func TestWhatIsSetTakesEffectAllOfItOrNothing(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	file := web(anyPort, a.yaml(), b.yaml())
	r := run(t, file)
	number := func(n int) *int { return &n }
	v, err := r.Set(someone, "web", "a", api.Setting{Priority: number(1), MaxConnections: number(7)})
	if err != nil || v.Weight != 1 || v.Priority != 1 || v.MaxConnections != 7 {
		t.Errorf("%+v, %v", v, err)
	}
	r.log.waitFor(t, `change="priority 1, was 0, max_connections 7, was 0" who=ann`)
	for range 4 { // b is used before a now
		if g := visit(t, r.listen("web")); g.name != "b" {
			t.Errorf("served by %s", g.name)
		}
	}
	_, err = r.Set(someone, "web", "a", api.Setting{Priority: number(5), Weight: number(999)})
	refused(t, err, api.CodeInvalid, "weight 999")
	if v := r.backend("web", "a"); v.Priority != 1 || v.Weight != 1 {
		t.Errorf("after a refusal: %+v", v)
	}
	r.becomes(file)
	if v := r.backend("web", "a"); v.Priority != 0 || v.MaxConnections != 0 {
		t.Errorf("after a reload: %+v", v)
	}
}
