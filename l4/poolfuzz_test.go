package l4

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/picker"
)

// FuzzPool applies changes, a byte each, and checks after every one what always holds:
// the view is that of the states, the last usable backend is not ejected, and the log
// tells each transition once.
func FuzzPool(f *testing.F) {
	f.Add([]byte{0x03, 0x13, 0x23, 0x33, 0x04, 0x14, 0x24, 0x34, 0x01, 0x11, 0x02})
	f.Add([]byte{0x03, 0x02, 0x12, 0x22, 0x32, 0x01, 0x04})
	f.Add([]byte{0x00, 0x11, 0x22, 0x33, 0x03, 0x13, 0x23, 0x33, 0x20, 0x10})
	f.Fuzz(func(t *testing.T, changes []byte) {
		backends := plain(5)
		backends[2].Priority = 1
		backends[3].Priority = 1
		backends[4].Weight = 0
		p, b, j := pool(t, picker.First, backends...)
		told := make(map[string]string) // status by backend, as the log tells
		for _, b := range b {
			told[b.Name()] = "unknown"
		}
		for _, change := range changes {
			before := p.usable
			apply(p, b[int(change>>4)%len(b)], change&0xf)
			for _, msg := range []string{"backend up", "backend down", "backend still down"} {
				for _, l := range j.of(msg) {
					if l["from"] != told[l["backend"]] || l["from"] == l["to"] {
						t.Fatalf("told %s, then %v", told[l["backend"]], l)
					}
					told[l["backend"]] = l["to"]
				}
			}
			outages := len(j.of("no usable backend"))
			j.said()
			checkView(t, p)
			if after := p.usable; (outages == 1) != (before > 0 && after == 0) {
				t.Fatalf("%d usable, then %d, and %d outages told", before, after, outages)
			}
		}
		for _, b := range b {
			if told[b.Name()] != b.status() {
				t.Fatalf("%s is %s, told is %s", b.Name(), b.status(), told[b.Name()])
			}
		}
	})
}

func apply(p *Pool, b *Backend, change byte) {
	switch change % 5 {
	case 3:
		if p.Eject(b, byDial) != b.ejected {
			panic("Eject tells a wrong story")
		}
	case 4:
		p.Restore(b, byProbe)
	default:
		p.SetHealth(b, Health(change%5), byProbe)
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
