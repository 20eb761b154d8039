package l4

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/picker"
)

// FuzzPool applies changes, a byte each, and checks after every one what always holds:
// the view is that of the states, the last usable backend is not ejected, nobody is let on
// one that may have no session, there is never more than one writer, and the log tells each
// transition once.
func FuzzPool(f *testing.F) {
	f.Add([]byte{0x03, 0x13, 0x23, 0x33, 0x04, 0x14, 0x24, 0x34, 0x01, 0x11, 0x02})
	f.Add([]byte{0x03, 0x02, 0x12, 0x22, 0x32, 0x01, 0x04})
	f.Add([]byte{0x00, 0x11, 0x22, 0x33, 0x03, 0x13, 0x23, 0x33, 0x20, 0x10})
	f.Add([]byte{0x01, 0x11, 0x06, 0x17, 0x05, 0x15, 0x26, 0x36, 0x46, 0x25})                   // drain, maint, ready
	f.Add([]byte{0x0f, 0x08, 0x09, 0x08, 0x0f, 0x18, 0x28, 0x38, 0x48, 0x09, 0x0a, 0x1a})       // removed, added, replaced
	f.Add([]byte{0x01, 0x11, 0x2d, 0x21, 0x31, 0x42, 0x06, 0x05, 0x07, 0x3d, 0x1d, 0x11, 0x0d}) // one writer, and any number again
	f.Add([]byte{0x0b, 0x1b, 0x2b, 0x3b, 0x4b, 0x0b, 0x0c, 0x1e, 0x02, 0x12, 0x2e, 0x01, 0x0c}) // weights, order, strictness
	f.Add([]byte{0x1d, 0x01, 0x11, 0x21, 0x0a, 0x31, 0x41, 0x08, 0x09, 0x01})                   // the writer is replaced
	f.Fuzz(func(t *testing.T, changes []byte) {
		z := newPoolZoo(t)
		for _, change := range changes {
			out := z.p.outage.Load() != 0
			z.apply(int(change>>4)%len(z.now), change&0xf)
			z.checkTold(out)
			checkView(t, z.p)
			z.checkBars()
		}
	})
}

// poolZoo is a pool that anything is done to, and what is known of it.
type poolZoo struct {
	t    *testing.T
	p    *Pool
	j    *journal
	cfgs []BackendConfig
	now  []*Backend        // by index of cfgs; nil = not in the pool
	had  []*Backend        // that were in it
	told map[string]string // status by backend, as the log tells
	cfg  Config
	held map[*Backend]bool // has a session

	verdicts int
}

func newPoolZoo(t *testing.T) *poolZoo {
	cfgs := plain(5)
	cfgs[2].Priority = 1
	cfgs[3].Priority = 1
	cfgs[4].Weight = 0
	z := &poolZoo{t: t, cfgs: cfgs, told: make(map[string]string), held: make(map[*Backend]bool)}
	z.p, z.now, z.j = pool(t, picker.First, cfgs...)
	z.cfg = Config{Name: "svc", Balance: picker.First}
	for _, b := range z.now {
		z.told[b.Name()] = "unknown"
	}
	z.had = slices.Clone(z.now)
	return z
}

func (z *poolZoo) apply(i int, change byte) {
	p, b := z.p, z.now[i]
	switch {
	case change == 9 && b == nil:
		z.edit(i, Edit{Add: z.cfgs[i : i+1]})
	case change == 13:
		z.cfg.Conflict = []Conflict{"", ConflictKeep, ConflictFirst, ConflictNone}[i%4]
		z.reconfigure()
	case change == 14:
		z.cfg.OnDown = []OnDown{OnDownKeep, OnDownClose}[i%2]
		// Maglev's table takes long.
		z.cfg.Balance = []string{picker.First, picker.RoundRobin, picker.LeastConn, picker.P2C, picker.SourceHash}[i]
		z.reconfigure()
	case b == nil:
	case change <= 2:
		c := byProbe
		z.verdicts++
		c.Unsure = z.verdicts%3 == 0 // it may be full
		p.SetHealth(b, Health(change), c)
	case change == 3:
		if p.Eject(b, byDial) != b.ejected {
			z.t.Fatal("Eject tells a wrong story")
		}
	case change == 4:
		p.Restore(b, byProbe)
	case change <= 7:
		if was := b.admin; p.SetAdmin(b, Admin(change-5), byAdmin) != (b.admin != was) || b.admin != Admin(change-5) {
			z.t.Fatalf("SetAdmin tells a wrong story: %s, then %s", was, b.admin)
		}
	case change == 8:
		z.edit(i, Edit{Remove: []*Backend{b}})
	case change == 10: // by one at another address or, if it is there twice, at the same
		c := z.cfgs[i]
		if !z.held[b] {
			c.Address += "0"
		}
		z.edit(i, Edit{Remove: []*Backend{b}, Add: []BackendConfig{c}})
	case change == 11:
		c := z.cfgs[i]
		c.Weight, c.Priority = (b.cfg.Weight+1)%3, (b.cfg.Priority+1)%2
		z.edit(i, Edit{Update: map[*Backend]BackendConfig{b: c}})
	case change == 12:
		names := p.names()
		slices.Reverse(names)
		z.edit(i, Edit{Order: names})
	case change == 15:
		z.hold(b)
	}
}

// hold gives b a session, or ends the one that it has.
func (z *poolZoo) hold(b *Backend) {
	if z.held[b] {
		b.give()
	} else {
		b.take()
	}
	z.held[b] = !z.held[b]
}

func (z *poolZoo) reconfigure() {
	c, err := z.cfg.withDefaults()
	if err == nil {
		err = z.p.reconfigure(c, func() {})
	}
	if err != nil {
		z.t.Fatal(err)
	}
}

func (z *poolZoo) edit(i int, e Edit) {
	added, err := z.p.Edit(e, byAdmin)
	if err != nil {
		z.t.Fatal(err)
	}
	if len(e.Remove) > 0 {
		z.now[i] = nil
	}
	if len(added) > 0 {
		was := slices.Contains(z.had, added[0])
		if !was {
			z.had = append(z.had, added[0])
		}
		if was && !z.held[added[0]] {
			z.t.Fatal("one without sessions is back")
		}
		z.now[i] = added[0]
	}
}

// checkTold checks what the log says of one change; out tells whether an outage was said
// before.
func (z *poolZoo) checkTold(out bool) {
	for _, l := range z.j.all() {
		if l["to"] == "" {
			continue
		}
		same := l["from"] == l["to"] && !(l["to"] == statusDown && l["msg"] == "backend still down") // for another reason
		if l["from"] != z.told[l["backend"]] || same || l["reason"] == "" {
			z.t.Fatalf("told %s, then %v", z.told[l["backend"]], l)
		}
		z.told[l["backend"]] = l["to"]
	}
	begins, ends := len(z.j.of("no usable backend")), len(z.j.of("usable again"))
	z.j.said()
	p := z.p
	if now := p.outage.Load() != 0; begins > 1 || ends > 1 || now != (out && ends == 0 || begins == 1) {
		z.t.Fatalf("an outage: %v, then %v; %d begins and %d ends were told", out, now, begins, ends)
	} else if now && p.usable > 0 || !now && p.usable == 0 && len(p.backends) > 0 && !p.pending {
		z.t.Fatalf("an outage: %v, with %d of %d usable", now, p.usable, len(p.backends))
	}
	for i, b := range z.now {
		switch name := z.cfgs[i].Name; {
		case b == nil:
			if z.told[name] != statusRemoved {
				z.t.Fatalf("%s is not there, told is %s", name, z.told[name])
			}
		case z.told[name] == statusRemoved: // it is new
			z.told[name] = b.status()
		case z.told[name] != b.status():
			z.t.Fatalf("%s is %s, told is %s", name, b.status(), z.told[name])
		}
	}
}

// checkBars checks who may begin a session.
func (z *poolZoo) checkBars() {
	p := z.p
	for _, b := range z.had {
		if b.removed == slices.Contains(p.backends, b) {
			z.t.Fatalf("%s is removed: %v, and in the pool: %v", b.Name(), b.removed, !b.removed)
		}
		want := b.removed || b.admin != Ready || p.strict && (b.health == Down || b.outvoted)
		if b.barred.Load() != want {
			z.t.Fatalf("%s, %s, is barred: %v", b.Name(), b.status(), !want)
		}
		if b.fallen.Load() && !b.barred.Load() {
			z.t.Fatalf("%s, %s, has fallen and is not barred", b.Name(), b.status())
		}
	}
	if p.conflict != "" && p.usable > 1 {
		z.t.Fatalf("%d writers", p.usable)
	}
	got, why := p.choose(7, nil)
	if got == nil {
		if len(p.view.Load().tiers) > 0 {
			z.t.Fatal(why)
		}
		return
	}
	got.give()
	if got.barred.Load() {
		z.t.Fatalf("chose %s, which is %s", got.Name(), got.status())
	}
	if c := p.choice(7); c.Backend == "" || c.Certain && c.Backend != got.Name() || len(c.Candidates)+len(c.Excluded) != len(p.backends) {
		z.t.Fatalf("chose %s, said is %+v", got.Name(), c)
	}
}

// A random walk through the same changes.
func TestAPoolIsSoundWhateverIsDoneToIt(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 2))
	t.Log("seed", seed)
	for range 60 {
		z := newPoolZoo(t)
		for range 60 {
			i, change, out := random.IntN(len(z.now)), byte(random.IntN(16)), z.p.outage.Load() != 0
			z.apply(i, change)
			z.checkTold(out)
			checkView(t, z.p)
			z.checkBars()
		}
	}
}

func checkView(t *testing.T, p *Pool) {
	t.Helper()
	var eligible, usable int
	for _, b := range p.backends {
		if b.eligible() {
			eligible++
		}
		if b.usable() {
			usable++
		}
	}
	v := p.view.Load()
	if eligible > 0 && usable == 0 {
		t.Fatal("all are ejected")
	}
	if p.usable != usable || v.total != len(p.backends) {
		t.Fatalf("the pool has %d of %d usable, there are %d of %d", p.usable, v.total, usable, len(p.backends))
	}
	for i, tier := range v.tiers {
		for _, b := range tier.backends {
			if !b.eligible() || b.ejected != tier.ejected || b.health != tier.health || b.cfg.Priority != tier.priority {
				t.Fatalf("%s, %s, is in the tier of %s", b.Name(), b.status(), tier.health)
			}
			eligible--
		}
		if i > 0 && !slices.IsSortedFunc(v.tiers[i-1:i+1], byUse) {
			t.Fatalf("tiers %q", p.shape())
		}
	}
	if eligible != 0 {
		t.Fatalf("%d are in no tier", eligible)
	}
}

// byUse compares tiers: negative if a is used before b.
func byUse(a, b tier) int {
	if a.ejected != b.ejected {
		return map[bool]int{false: -1, true: 1}[a.ejected]
	}
	if a.priority != b.priority {
		return a.priority - b.priority
	}
	return int(b.health) - int(a.health)
}

// The pool says an outage from within a session, without its mutex.
func TestAnOutageMayBeSaidWhileBackendsAreAdded(t *testing.T) {
	p, _, _ := pool(t, picker.First)
	more := plain(50)
	parallel(2, func(i int) {
		for n := range more {
			if i == 0 {
				p.noUsable("each backend tried failed to connect")
				p.recovered()
			} else if _, err := p.Add(more[n]); err != nil {
				t.Error(err)
			}
		}
	})
}
