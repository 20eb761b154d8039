package l4

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

var (
	byProbe = Cause{Source: "probe", Reason: "2 in a row"}
	byDial  = Cause{Source: "dial", Reason: "connection refused"}
	byAdmin = Cause{Source: "admin", Reason: "asked to"}
)

// pool makes a pool of service "svc" with the given backends.
func pool(t testing.TB, balance string, backends ...BackendConfig) (*Pool, []*Backend, *journal) {
	t.Helper()
	j := &journal{}
	p := newPool(poolConfig{service: "svc", balance: balance, log: j.logger()}, 0)
	all, err := p.Add(backends...)
	if err != nil {
		t.Fatal(err)
	}
	return p, all, j
}

// plain is n backends b1, b2 and so on with weight 1.
func plain(n int) []BackendConfig {
	all := make([]BackendConfig, n)
	for i := range all {
		all[i] = BackendConfig{Address: fmt.Sprintf("192.0.2.1:%d", i+1), Name: fmt.Sprintf("b%d", i+1), Weight: 1}
	}
	return all
}

// shape describes the pool's view: a tier a word, backends in it joined by +; ejected
// ones are left out.
func (p *Pool) shape() string {
	var tiers []string
	for _, t := range p.view.Load().tiers {
		if t.ejected {
			continue
		}
		var names []string
		for _, b := range t.backends {
			names = append(names, b.Name())
		}
		tiers = append(tiers, strings.Join(names, "+"))
	}
	return strings.Join(tiers, " ")
}

// pick chooses a backend and gives it back at once.
func (p *Pool) pick(key uint64) string {
	b, _ := p.choose(key, nil)
	if b == nil {
		return ""
	}
	b.give()
	return b.Name()
}

func TestTiersGoByPriorityThenUpBeforeUnknown(t *testing.T) {
	prioritised := plain(4)
	prioritised[2].Priority, prioritised[3].Priority = 1, 1
	weightless := plain(3)
	weightless[1].Weight = 0
	for _, c := range []struct {
		name     string
		backends []BackendConfig
		apply    func(p *Pool, b []*Backend)
		want     string
	}{
		{"nothing known", plain(3), func(*Pool, []*Backend) {}, "b1+b2+b3"},
		{"one up", plain(3), func(p *Pool, b []*Backend) { p.SetHealth(b[1], Up, byProbe) }, "b2 b1+b3"},
		{"one down", plain(3), func(p *Pool, b []*Backend) { p.SetHealth(b[1], Down, byProbe) }, "b1+b3"},
		{"one ejected", plain(3), func(p *Pool, b []*Backend) { p.Eject(b[0], byDial) }, "b2+b3"},
		{"ejected and restored", plain(3), func(p *Pool, b []*Backend) { p.Eject(b[0], byDial); p.Restore(b[0], byProbe) }, "b1+b2+b3"},
		{"up again but ejected still", plain(2), func(p *Pool, b []*Backend) { p.Eject(b[0], byDial); p.SetHealth(b[0], Up, byProbe) }, "b2"},
		{"priorities", prioritised, func(*Pool, []*Backend) {}, "b1+b2 b3+b4"},
		{"priority counts more than health", prioritised, func(p *Pool, b []*Backend) {
			p.SetHealth(b[3], Up, byProbe)
		}, "b1+b2 b4 b3"},
		{"four tiers", prioritised, func(p *Pool, b []*Backend) {
			p.SetHealth(b[1], Up, byProbe)
			p.SetHealth(b[3], Up, byProbe)
		}, "b2 b1 b4 b3"},
		{"only the backup is left", prioritised, func(p *Pool, b []*Backend) {
			p.SetHealth(b[0], Down, byProbe)
			p.SetHealth(b[1], Down, byProbe)
		}, "b3+b4"},
		{"weight 0 gets nothing", weightless, func(p *Pool, b []*Backend) { p.SetHealth(b[1], Up, byProbe) }, "b1+b3"},
		{"all down", plain(2), func(p *Pool, b []*Backend) {
			p.SetHealth(b[0], Down, byProbe)
			p.SetHealth(b[1], Down, byProbe)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b, _ := pool(t, picker.RoundRobin, c.backends...)
			c.apply(p, b)
			if got := p.shape(); got != c.want {
				t.Errorf("tiers %q, want %q", got, c.want)
			}
			usable := len(strings.FieldsFunc(c.want, func(r rune) bool { return r == '+' || r == ' ' }))
			if total := p.view.Load().total; p.usable != usable || total != len(b) {
				t.Errorf("%d of %d usable, want %d of %d", p.usable, total, usable, len(b))
			}
		})
	}
}

func TestAddTakesAllOrNone(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  BackendConfig
	}{
		{"no address", BackendConfig{Name: "x", Weight: 1}},
		{"negative weight", BackendConfig{Address: "a:1", Weight: -1}},
		{"too much weight", BackendConfig{Address: "a:1", Weight: 257}},
		{"negative priority", BackendConfig{Address: "a:1", Priority: -1}},
		{"negative limit", BackendConfig{Address: "a:1", MaxConnections: -1}},
		{"name taken", BackendConfig{Address: "a:1", Name: "b1"}},
		{"name taken in the same call", BackendConfig{Address: "192.0.2.9:9", Name: "new"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, _ := pool(t, picker.RoundRobin, plain(2)...)
			all, err := p.Add(BackendConfig{Address: "192.0.2.9:9", Name: "new", Weight: 1}, c.bad)
			if !errors.Is(err, ErrBackend) || all != nil {
				t.Fatalf("added %v, error %v", all, err)
			}
			if p.shape() != "b1+b2" || len(p.backends) != 2 {
				t.Errorf("something of it was added: %q", p.shape())
			}
			if _, err := p.Add(BackendConfig{Address: "192.0.2.9:9", Name: "new", Weight: 1}); err != nil {
				t.Errorf("the good one of it cannot be added: %v", err)
			}
		})
	}
}

func TestAddRefusesWhatThePolicyRefuses(t *testing.T) {
	p := newPool(poolConfig{service: "svc", balance: "none such", log: (&journal{}).logger()}, 0)
	if all, err := p.Add(plain(1)...); !errors.Is(err, ErrBackend) || !errors.Is(err, picker.ErrUnknownPolicy) || all != nil {
		t.Errorf("added %v, error %v", all, err)
	}
	if len(p.backends) != 0 || p.pick(1) != "" {
		t.Error("something was added nonetheless")
	}
}

func TestABackendIsNamedByItsAddressIfByNothingElse(t *testing.T) {
	_, b, _ := pool(t, picker.First, BackendConfig{Address: "unix:/run/x", Weight: 1})
	if b[0].Name() != "unix:/run/x" || b[0].Address() != "unix:/run/x" || b[0].network != "unix" || b[0].address != "/run/x" {
		t.Errorf("%q at %q, dialled as %s %s", b[0].Name(), b[0].Address(), b[0].network, b[0].address)
	}
}

func TestAnEmptyPoolHasNothingToChoose(t *testing.T) {
	zero := plain(1)
	zero[0].Weight = 0
	for _, backends := range [][]BackendConfig{nil, zero} {
		for _, policy := range picker.Policies() {
			p, _, _ := pool(t, policy, backends...)
			if b, why := p.choose(1, nil); b != nil || why != relay.NoBackend {
				t.Errorf("%s: chose %v, %v", policy, b, why)
			}
		}
	}
}

// A rebuild that started the turns anew would send every client to b1.
func TestTheTurnsGoOnOverRebuilds(t *testing.T) {
	backends := plain(4)
	backends[3].Priority = 1 // another tier: the turns of the first are not its affair
	p, b, _ := pool(t, picker.RoundRobin, backends...)
	var got []string
	for i := range 9 {
		got = append(got, p.pick(0))
		p.SetHealth(b[3], []Health{Down, Unknown}[i%2], byProbe)
	}
	if want := slices.Repeat([]string{"b1", "b2", "b3"}, 3); !slices.Equal(got, want) {
		t.Errorf("chose %v", got)
	}
}

// C74
func TestHashedClientsStayWhenAnotherBackendGoesAndReturns(t *testing.T) {
	for _, policy := range []string{picker.SourceHash, picker.Maglev} {
		for _, c := range []struct {
			name     string
			out, in  func(p *Pool, b *Backend)
			mayMove  float64 // of the clients of other backends, while one is out
			mayDrift float64 // of all, when it is back
		}{
			{"down", func(p *Pool, b *Backend) { p.SetHealth(b, Down, byProbe) }, func(p *Pool, b *Backend) { p.SetHealth(b, Up, byProbe) }, 0.01, 0},
			{"ejected", func(p *Pool, b *Backend) { p.Eject(b, byDial) }, func(p *Pool, b *Backend) { p.Restore(b, byProbe) }, 0.01, 0},
		} {
			t.Run(policy+"/"+c.name, func(t *testing.T) {
				p, b, _ := pool(t, policy, plain(5)...)
				for _, b := range b {
					p.SetHealth(b, Up, byProbe)
				}
				const clients = 5000
				homes := func() (all [clients]string) {
					for i := range all {
						all[i] = p.pick(uint64(i) * 0x9e3779b97f4a7c15)
					}
					return all
				}
				before := homes()
				c.out(p, b[2])
				during := homes()
				c.in(p, b[2])
				after := homes()
				moved, heirs := 0, make(map[string]bool)
				for i := range before {
					switch {
					case during[i] == "b3":
						t.Fatal("a client was sent to the one that is out")
					case before[i] == "b3":
						heirs[during[i]] = true
					case before[i] != during[i]:
						moved++
					}
				}
				if float64(moved) > c.mayMove*clients || policy == picker.SourceHash && moved > 0 {
					t.Errorf("%d of %d clients of other backends moved", moved, clients)
				}
				if len(heirs) < 3 {
					t.Errorf("its clients went to %v only", heirs)
				}
				if before != after {
					t.Error("the mapping is not the first one when it is back")
				}
			})
		}
	}
}

func TestFullBackendsArePassedOver(t *testing.T) {
	for _, policy := range picker.Policies() {
		t.Run(policy, func(t *testing.T) {
			backends := plain(3)
			for i := range backends {
				backends[i].MaxConnections = 2
			}
			p, b, _ := pool(t, policy, backends...)
			got := make(map[string]int)
			for range 6 {
				chosen, _ := p.choose(42, nil)
				if chosen == nil {
					t.Fatalf("refused with room left: %v", got)
				}
				got[chosen.Name()]++
			}
			if got["b1"] != 2 || got["b2"] != 2 || got["b3"] != 2 {
				t.Errorf("chose %v", got)
			}
			if chosen, why := p.choose(42, nil); chosen != nil || why != relay.BackendsFull {
				t.Errorf("chose %v, %v", chosen, why)
			}
			if chosen, why := p.choose(42, b); chosen != nil || why != relay.NoBackend {
				t.Errorf("chose %v, %v of backends tried already", chosen, why)
			}
			b[1].give()
			if chosen, _ := p.choose(42, nil); chosen != b[1] {
				t.Errorf("chose %v, not the one with room", chosen)
			}
		})
	}
}

func TestTheNextTierServesWhenTheFirstIsFullOrTried(t *testing.T) {
	backends := plain(3)
	backends[0].MaxConnections, backends[2].Priority = 1, 1
	p, b, _ := pool(t, picker.First, backends...)
	var got []string
	var tried []*Backend
	for range 3 {
		chosen, _ := p.choose(0, tried)
		got = append(got, chosen.Name())
		if chosen != b[0] {
			tried = append(tried, chosen)
		}
	}
	if want := []string{"b1", "b2", "b3"}; !slices.Equal(got, want) {
		t.Errorf("chose %v, want %v", got, want)
	}
}

// C78: sessions are not moved because there is a better place for them now.
func TestSessionsStayWhereTheyAre(t *testing.T) {
	r := serve(t, Config{Balance: picker.LeastConn}, greeters(t, 2)...)
	r.Pool().SetHealth(r.backends[1], Down, byProbe)
	var clients []relay.Conn
	for range 10 {
		c := r.connect()
		expectRead(t, c, "1")
		clients = append(clients, c)
	}
	r.Pool().SetHealth(r.backends[1], Up, byProbe)
	more, err := r.Pool().Add(greeters(t, 3)[2])
	if err != nil {
		t.Fatal(err)
	}
	r.Pool().SetHealth(more[0], Up, byProbe)
	for range 4 {
		c := r.connect()
		if got := read(t, c, 1); got == "1" {
			t.Error("a new session went where there are ten")
		}
	}
	if b := r.Backends(); b[0].Sessions != 10 || b[0].Total != 10 {
		t.Errorf("%+v", b[0])
	}
	for _, c := range clients {
		c.Close()
	}
}

// One that was taken out of use while it was dialled did not fail: when it is back it may be
// dialled again, and one that failed may not.
func TestABackendThatIsBackIsExcused(t *testing.T) {
	p, b, _ := pool(t, picker.First, plain(2)...)
	p.SetAdmin(b[0], Drain, byAdmin)
	if got, why := p.choose(0, b, b[0]); got != nil || why != relay.NoBackend {
		t.Errorf("chose %v, %v", got, why)
	}
	p.SetAdmin(b[0], Ready, byAdmin)
	if got, _ := p.choose(0, b, b[0]); got != b[0] {
		t.Errorf("chose %v", got)
	}
	if got, why := p.choose(0, b); got != nil || why != relay.NoBackend {
		t.Errorf("chose %v, %v", got, why)
	}
	s := Session{troubles: &troubles{tried: []*Backend{b[1], b[0]}, withdrawn: []*Backend{b[0]}}}
	s.retries(b[0])
	if len(s.excused()) != 0 || len(s.failed()) != 1 || s.failed()[0] != b[1] {
		t.Errorf("excused: %v, failed: %v", s.excused(), s.failed())
	}
}
