package l4

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/picker"
)

func TestChoosingAllocatesNothing(t *testing.T) {
	for _, policy := range picker.Policies() {
		p, _, _ := pool(t, policy, plain(100)...)
		key := uint64(0)
		allocs := testing.AllocsPerRun(1000, func() {
			key += 0x9e3779b97f4a7c15
			b, _ := p.choose(key, nil)
			b.give()
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", policy, allocs)
		}
	}
}

func TestEveryChoiceIsValidDuringRebuilds(t *testing.T) {
	for _, policy := range picker.Policies() {
		t.Run(policy, func(t *testing.T) {
			backends := plain(6)
			backends[4].Priority, backends[5].Priority = 1, 1
			for i := range backends {
				backends[i].MaxConnections = 100
			}
			p, b, _ := pool(t, policy, backends...)
			writes := 150
			if policy == picker.Maglev {
				writes = 10 // its table takes long
			}
			stop := make(chan struct{})
			var choosers, writers sync.WaitGroup
			for i := range 3 {
				choosers.Go(func() {
					rng := rand.New(rand.NewPCG(1, uint64(i)))
					for {
						select {
						case <-stop:
							return
						default:
						}
						// b1 is always usable, so there is always a choice.
						tried := b[rng.IntN(2)+1 : rng.IntN(4)+2]
						chosen, why := p.choose(rng.Uint64(), tried)
						if chosen == nil || slices.Contains(tried, chosen) {
							t.Errorf("chose %v, %v with %d tried", chosen, why, len(tried))
							return
						}
						chosen.give()
					}
				})
			}
			for i := range 2 {
				writers.Go(func() {
					rng := rand.New(rand.NewPCG(2, uint64(i)))
					for range writes {
						other := b[1+rng.IntN(5)]
						switch rng.IntN(3) {
						case 0:
							p.SetHealth(other, Health(rng.IntN(3)), byProbe)
						case 1:
							p.Eject(other, byDial)
						case 2:
							p.Restore(other, byProbe)
						}
					}
				})
			}
			writers.Add(1)
			go func() {
				defer writers.Done()
				for i := range 5 {
					c := plain(1)[0]
					c.Name = "late" + string(rune('0'+i))
					if _, err := p.Add(c); err != nil {
						t.Error(err)
					}
				}
			}()
			writers.Wait()
			close(stop)
			choosers.Wait()
			for _, b := range p.backends {
				if b.active.Load() != 0 {
					t.Errorf("%s is left with %d", b.Name(), b.active.Load())
				}
			}
		})
	}
}
