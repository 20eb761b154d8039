package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4"
)

// What is not changed by a reload is not touched by it.
func TestAnUnchangedBackendKeepsEverythingOverAReload(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	dead := "{address: '127.0.0.1:1', name: dead}"
	r := run(t, web(anyPort, a.yaml(), b.yaml(), dead))
	guests := map[string]*guest{}
	for range 4 { // two turns of a and b; dead is met in between and ejected
		g := visit(t, r.listen("web"))
		guests[g.name] = g
	}
	if _, err := r.SetAdmin(someone, "web", "b", api.Drain); err != nil {
		t.Fatal(err)
	}
	before := r.backend("web", "a")
	if !r.backend("web", "dead").Ejected {
		t.Fatal("the dead one was not met")
	}
	address := r.listen("web")
	r.becomes(webWith(", slow_start: 1s, connect: {timeout: 1s}", anyPort, "{address: 'localhost:1', name: new, weight: 0}", dead, b.yaml(), a.yaml("weight: 7")))
	if now := r.listen("web"); now != address {
		t.Errorf("the port that the system chose became %s, was %s", now, address)
	}
	now := r.backend("web", "a")
	if now.Total != before.Total || now.Sessions != before.Sessions || now.Since != before.Since || now.Weight != 7 {
		t.Errorf("now %+v\nwas %+v", now, before)
	}
	if b := r.backend("web", "b"); b.Admin != api.Drain || b.Usable || b.Sessions == 0 {
		t.Errorf("drained: %+v", b)
	}
	if b := r.backend("web", "dead"); !b.Ejected || b.DialFailures["refused"] != 1 {
		t.Errorf("dead: %+v", b)
	}
	for _, g := range guests {
		g.lives()
	}
	v, _ := r.Service("web")
	var names []string
	for _, b := range v.Backends {
		names = append(names, b.Name)
	}
	if !slices.Equal(names, []string{"new", "dead", "b", "a"}) {
		t.Errorf("order %q", names)
	}
}

func TestARoundRobinGoesOnWhereItWas(t *testing.T) {
	a, b, c := talk(t, "a"), talk(t, "b"), talk(t, "c")
	all := []string{a.yaml(), b.yaml(), c.yaml()}
	r := run(t, web(anyPort, all...))
	var got []string
	for i := range 9 {
		got = append(got, visit(t, r.listen("web")).name)
		r.becomes(webWith(", connect: {attempts: "+string('1'+rune(i%3))+"}", anyPort, all...))
	}
	for i := 3; i < len(got); i++ {
		if got[i] != got[i-3] || got[i] == got[i-1] {
			t.Fatalf("turns: %q", got)
		}
	}
}

func TestOtherCheckSettingsStartProbesAgainWithoutAFlap(t *testing.T) {
	a := talk(t, "a")
	check := func(keys string) string {
		return "services: [{name: web, listen: '" + anyPort + "', check: {" + keys + "}, backends: [" + a.yaml() + ", {address: '127.0.0.1:1', name: dead}]}]"
	}
	r := run(t, check("interval: 1h"))
	r.log.waitFor(t, `msg="backend up" service=web backend=a`)
	r.log.waitFor(t, `msg="backend down" service=web backend=dead`)
	probes := a.accepted.Load()
	r.becomes(check("interval: 2h, rise: 9"))
	eventually(t, "the new monitor probes", func() bool { return a.accepted.Load() > probes })
	r.becomes(check("interval: 1h, timeout: 3s"))
	if up, dead := r.backend("web", "a"), r.backend("web", "dead"); up.Health != "up" || dead.Health != "down" {
		t.Errorf("%+v\n%+v", up, dead)
	}
	if n := strings.Count(r.log.String(), "backend="); n != 2 {
		t.Errorf("%d transitions were logged:\n%s", n, r.log)
	}
	r.becomes(check("type: none"))
	if up, dead := r.backend("web", "a"), r.backend("web", "dead"); up.Health != "unknown" || dead.Health != "unknown" || up.Reason != "it is not checked any more by test" {
		t.Errorf("without a check: %+v\n%+v", up, dead)
	}
	r.becomes(check("interval: 1h"))
	eventually(t, "both are known again", func() bool {
		return r.backend("web", "a").Health == "up" && r.backend("web", "dead").Health == "down"
	})
}

func TestAnEjectionEndsWithTheSettingsThatItCameOf(t *testing.T) {
	a, dead := talk(t, "a"), "{address: '127.0.0.1:1', name: dead}"
	r := run(t, webWith(", balance: first", anyPort, dead, a.yaml()))
	visit(t, r.listen("web"))
	if !r.backend("web", "dead").Ejected {
		t.Fatal("the dead one was not met")
	}
	r.becomes(webWith(", balance: first, passive: {eject: 1s}", anyPort, dead, a.yaml()))
	if b := r.backend("web", "dead"); b.Ejected || b.Reason != "its check was changed by test" {
		t.Errorf("%+v", b)
	}
	visit(t, r.listen("web"))
	if b := r.backend("web", "dead"); !b.Ejected || !strings.Contains(b.Reason, "ejected for 1s") {
		t.Errorf("%+v", b)
	}
}

func TestAReloadThatTouchesNoCheckProbesNobody(t *testing.T) {
	a := talk(t, "a")
	file := func(keys string) string {
		return "services: [{name: web, listen: '" + anyPort + "', check: {interval: 1h}, backends: [" + a.yaml() + "]" + keys + "}]"
	}
	r := run(t, file(""))
	r.log.waitFor(t, `msg="backend up"`)
	eventually(t, "the probe is accepted", func() bool { return a.accepted.Load() == 1 })
	r.becomes(file(", balance: p2c"))
	r.becomes(file(", limits: {connections: 9}"))
	if n := a.accepted.Load(); n != 1 {
		t.Errorf("%d probes", n)
	}
}

func TestAnotherAddressIsAnotherBackendOfTheSameName(t *testing.T) {
	old, fresh := talk(t, "b"), talk(t, "b")
	r := run(t, webWith(", drain_timeout: 1m", anyPort, old.yaml()))
	g := visit(t, r.listen("web"))
	r.becomes(webWith(", drain_timeout: 1m", anyPort, fresh.yaml()))
	g.lives()
	visit(t, r.listen("web"))
	v, _ := r.Service("web")
	if len(v.Backends) != 2 || v.Backends[0].Address != fresh.address || v.Backends[0].Total != 1 || !v.Backends[1].Leaving || v.Backends[1].Sessions != 1 {
		t.Errorf("%+v", v.Backends)
	}
	if fresh.accepted.Load() != 1 || old.accepted.Load() != 1 {
		t.Errorf("the old one had %d, the new one %d", old.accepted.Load(), fresh.accepted.Load())
	}
	if v.Backends[0].ConnectP50 == 0 {
		t.Error("the metrics of the new one went with the old one")
	}
}

func TestARemovedBackendsSessionsAreResetAfterTheDrainTimeout(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	keys := ", drain_timeout: 50ms"
	r := run(t, webWith(keys, anyPort, a.yaml(), b.yaml()))
	guests := map[string]*guest{}
	for range 2 {
		g := visit(t, r.listen("web"))
		guests[g.name] = g
	}
	r.becomes(webWith(keys, anyPort, a.yaml()))
	if err := guests["b"].ended(); err == nil || err.Error() == "EOF" {
		t.Errorf("its session ended with %v, want a reset", err)
	}
	guests["a"].lives()
}

func TestTheLevelOfTheLogChangesAtOnce(t *testing.T) {
	a := talk(t, "a")
	level := &slog.LevelVar{}
	r := runWith(t, web(anyPort, a.yaml()), Options{Level: level})
	r.becomes("log: {level: error}\n" + web(anyPort, a.yaml()))
	if level.Level() != slog.LevelError {
		t.Errorf("level %v", level)
	}
	r.becomes(web(anyPort, a.yaml()))
	if level.Level() != slog.LevelInfo {
		t.Errorf("level %v", level)
	}
}

// What a start alone can change is told by each plan until there is one, and is not said to
// be in force.
func TestWhatNeedsAStartIsToldOfUntilThere(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	next := "log: {format: text}\nstate_dir: /nowhere/x\nadmin: {listen: 127.0.0.1:0}\n" + web(anyPort, a.yaml())
	for range 2 {
		p := r.becomes(next)
		var keys []string
		for _, c := range p.Changes {
			keys = append(keys, c.Key)
			if c.Note != "takes effect at the next start" {
				t.Errorf("%+v", c)
			}
		}
		if !slices.Equal(keys, []string{"admin", "log.format", "state_dir"}) {
			t.Errorf("%q", keys)
		}
	}
	if text := string(r.Config()); strings.Contains(text, "nowhere") || strings.Contains(text, "format: text") {
		t.Errorf("in force:\n%s", text)
	}
}

func TestSessionsOfANewServiceAreLoggedAsTheNewFileSays(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	r.becomes("log: {sessions: all}\n" + web(anyPort, a.yaml()) + "  - {name: new, listen: '" + anyPort + "', check: {type: none}, backends: [" + a.yaml() + "]}\n")
	for _, s := range []string{"web", "new"} {
		visit(t, r.listen(s)).Close()
		r.log.waitFor(t, "msg=session service="+s)
	}
}

func TestTheWarningsOfAReloadAreTheNewOnes(t *testing.T) {
	a := talk(t, "a")
	const warning = "close_over does nothing"
	r := run(t, web(anyPort, a.yaml()))
	r.becomes(webWith(", close_over: 1s", anyPort, a.yaml()))
	r.becomes(webWith(", close_over: 2s", anyPort, a.yaml()))
	if n := strings.Count(r.log.String(), warning); n != 1 {
		t.Errorf("warned %d times:\n%s", n, r.log)
	}
}

func TestPlanChangesNothing(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml()))
	p, err := r.Plan("new.yaml", []byte(web(anyPort, a.yaml(), b.yaml())))
	if err != nil || p.Applied || len(p.Changes) != 1 || p.Changes[0].Backend != "b" {
		t.Errorf("%+v, %v", p, err)
	}
	if n, _ := r.L4("web").Pool().Count(); n != 1 || r.Revision() != 1 {
		t.Errorf("%d backends, revision %d", n, r.Revision())
	}
	_, err = r.Plan("new.yaml", []byte("services: 1"))
	refused(t, err, api.CodeConfig, "wrong in one place")
	if f := api.AsFault(err).Faults; len(f) != 1 || !strings.HasPrefix(f[0], "new.yaml:1:") {
		t.Errorf("faults %q", f)
	}
}

// Who reads the configuration in force can start another process with it.
func TestServicesAndConfigAgreeAfterEveryChange(t *testing.T) {
	a, b, c := talk(t, "a"), talk(t, "b"), talk(t, "c")
	r := run(t, web(anyPort, a.yaml()))
	agree(t, r.App)
	if _, err := r.Add(someone, "web", api.NewBackend{Address: b.address, Name: "b"}); err != nil {
		t.Fatal(err)
	}
	agree(t, r.App)
	if _, err := r.SetWeight(someone, "web", "a", 17); err != nil {
		t.Fatal(err)
	}
	agree(t, r.App)
	plan, err := r.Plan("f", []byte(web(anyPort, a.yaml(), c.yaml())))
	if err != nil || len(plan.Changes) != 3 { // b goes, c comes, a's weight is the file's again
		t.Errorf("%+v, %v", plan, err)
	}
	r.becomes(web(anyPort, a.yaml(), c.yaml()))
	agree(t, r.App)
	if r.backend("web", "a").Weight != 1 {
		t.Error("the weight is not the file's")
	}
	if _, err := r.Remove(someone, "web", "a", nil); err != nil {
		t.Fatal(err)
	}
	agree(t, r.App)
}

// agree checks that what runs is what Config says.
func agree(t *testing.T, a *App) {
	t.Helper()
	file := parse(t, string(a.Config()))
	services := slices.DeleteFunc(a.Services(), func(s api.Service) bool { return s.Leaving })
	if len(file.Services) != len(services) {
		t.Fatalf("%d services run, the file has %d", len(services), len(file.Services))
	}
	for i, s := range services {
		f := file.Services[i]
		if f.Name != s.Name || f.Balance != s.Balance || len(f.Listen) != len(s.Listen) {
			t.Errorf("runs %+v\nfile %+v", s, f)
		}
		backends := slices.DeleteFunc(s.Backends, func(b api.Backend) bool { return b.Leaving })
		if len(backends) != len(f.Backends) {
			t.Fatalf("%s: %d backends run, the file has %d", s.Name, len(backends), len(f.Backends))
		}
		for j, b := range backends {
			is := l4.BackendConfig{Address: b.Address, Name: b.Name, Weight: b.Weight, Priority: b.Priority, MaxConnections: b.MaxConnections}
			if is != l4.BackendConfig(f.Backends[j]) {
				t.Errorf("%s: runs %+v, the file has %+v", s.Name, is, f.Backends[j])
			}
		}
	}
}
