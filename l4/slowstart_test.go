package l4

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/picker"
)

func slowPool(t testing.TB, balance string, over time.Duration, backends ...BackendConfig) (*Pool, []*Backend) {
	t.Helper()
	p := newPool(poolConfig{service: "svc", balance: balance, log: (&journal{}).logger()}, over)
	all, err := p.Add(backends...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p, all
}

// shares counts the picks of n different clients.
func (p *Pool) shares(n int) map[string]int {
	got := make(map[string]int)
	for i := range n {
		got[p.pick(uint64(i)*0x9e3779b97f4a7c15)]++
	}
	return got
}

// C76
func TestABackendThatComesBackGetsItsShareByAndBy(t *testing.T) {
	for _, balance := range []string{picker.RoundRobin, picker.Random, picker.SourceHash, picker.Maglev} {
		synctest.Test(t, func(t *testing.T) {
			p, b := slowPool(t, balance, 10*time.Second, plain(2)...)
			for _, b := range b {
				p.SetHealth(b, Up, byProbe)
			}
			if s := p.shares(8000); s["b2"] < 3400 || s["b2"] > 4600 {
				t.Errorf("%s, at the start: %v", balance, s)
			}
			p.SetHealth(b[1], Down, byProbe)
			p.SetHealth(b[1], Up, byProbe)
			for _, c := range []struct{ after, least, most int }{
				{0, 400, 1300}, {4, 2000, 3300}, {9, 3200, 4300}, {11, 3400, 4600},
			} {
				time.Sleep(time.Duration(c.after)*time.Second - time.Since(b[1].probed.since))
				synctest.Wait()
				if s := p.shares(8000); s["b2"] < c.least || s["b2"] > c.most {
					t.Errorf("%s, after %d s: %v, want %d to %d of 8000", balance, c.after, s, c.least, c.most)
				}
			}
			if !b[1].risen.IsZero() || p.climb != nil {
				t.Error("it climbs still")
			}
		})
	}
}

// Clients of the others stay where they are, and in the end all are where they were.
func TestASlowStartMovesOnlyClientsOfTheOneThatStarts(t *testing.T) {
	for _, balance := range []string{picker.SourceHash, picker.Maglev} {
		synctest.Test(t, func(t *testing.T) {
			const clients = 4000
			p, b := slowPool(t, balance, 10*time.Second, plain(4)...)
			for _, b := range b {
				p.SetHealth(b, Up, byProbe)
			}
			home := make([]string, clients)
			at := func(i int) string { return p.pick(uint64(i) * 0x9e3779b97f4a7c15) }
			for i := range home {
				home[i] = at(i)
			}
			p.SetHealth(b[1], Down, byProbe)
			p.SetHealth(b[1], Up, byProbe)
			for range 11 {
				moved := 0
				for i := range home {
					if got := at(i); got != home[i] && home[i] != "b2" {
						moved++
					}
				}
				if moved > clients/50 && (balance != picker.Maglev || moved > clients/10) {
					t.Errorf("%s: %d of %d clients of others are elsewhere", balance, moved, clients)
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
			for i := range home {
				if got := at(i); got != home[i] {
					t.Fatalf("%s: client %d is at %s, not %s", balance, i, got, home[i])
				}
			}
		})
	}
}

func TestNobodyClimbsAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := slowPool(t, picker.RoundRobin, time.Second, plain(2)...)
		p.SetHealth(b[0], Up, byProbe)
		if p.climb != nil || !b[0].risen.IsZero() {
			t.Error("a first probe that passes is no coming back")
		}
		p.Eject(b[1], byDial)
		p.Restore(b[1], byDial)
		if b[1].risen.IsZero() {
			t.Error("one that was ejected has come back")
		}
	})
}
