package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// chaos kills one backend after the other and revives it before the next.
type chaos struct {
	fleet           *fleet
	every           time.Duration // from one kill to the next
	seed            uint64
	rand            *rand.Rand
	kills, revivals atomic.Int64
}

func newChaos(f *fleet, every time.Duration, seed uint64) *chaos {
	return &chaos{fleet: f, every: every, seed: seed, rand: rand.New(rand.NewPCG(seed, 0))}
}

// run spends half of each turn with all backends alive and half with one killed.
func (c *chaos) run(ctx context.Context) {
	for pause(ctx, c.every/2) {
		name := c.victim()
		if name == "" {
			continue
		}
		c.do(ctx, verbKill, name, &c.kills)
		if !pause(ctx, c.every/2) {
			return
		}
		c.do(ctx, verbRevive, name, &c.revivals)
	}
}

func (c *chaos) do(ctx context.Context, verb, name string, count *atomic.Int64) {
	if _, err := c.fleet.order(ctx, "chaos", verb, name); err != nil {
		c.fleet.say("chaos", verb+" "+name+" failed: "+err.Error())
		return
	}
	count.Add(1)
}

// victim draws a backend; none if somebody else has broken one, for then a kill could
// take the last that works.
func (c *chaos) victim() string {
	for _, b := range c.fleet.backends {
		if b.state() != stateWell {
			return ""
		}
	}
	return c.fleet.backends[c.rand.IntN(len(c.fleet.backends))].name
}

// String tells what was done so far, and how to get the same order of victims again.
func (c *chaos) String() string {
	return fmt.Sprintf("chaos: %d kills, %d revivals (seed %d)", c.kills.Load(), c.revivals.Load(), c.seed)
}
