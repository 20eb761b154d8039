package l4

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// view is a pool at one instant: immutable.
type view struct {
	version int64
	tiers   []tier // in the order of use
	total   int    // backends, usable or not
	points  int    // of a hash ring, for each unit of weight
	scale   int    // how many units the weights are counted in
	done    bool   // it has its pickers
}

// complete makes the pickers.
func (v *view) complete(balance string) (err error) {
	for i := range v.tiers {
		t := &v.tiers[i]
		opt := picker.Options{RingPoints: v.points, Cursor: t.cursor}
		if t.picker, err = picker.New(balance, t.candidates(), opt); err != nil {
			return err
		}
		t.places = make(map[*Backend]int, len(t.backends))
		for place, b := range t.backends {
			t.places[b] = place
		}
	}
	v.done = true
	return nil
}

// tier is a set of backends that are as good as each other.
type tier struct {
	ejected  bool // the last resort of clients whom all others have failed
	priority int
	health   Health
	backends []*Backend
	weights  []int // at present
	places   map[*Backend]int
	cursor   *atomic.Uint64
	picker   picker.Picker
}

// choose picks a backend for key and reserves a session on it. Those in tried are
// passed over, and so are full ones. Without any left it returns nil and why.
func (v *view) choose(key uint64, tried []*Backend) (*Backend, relay.Why) {
	why := relay.NoBackend
	for i := range v.tiers {
		t := &v.tiers[i]
		avoid := t.indexes(tried)
		for {
			k := t.picker.Pick(key, avoid)
			if k < 0 {
				break
			}
			if t.backends[k].take() {
				return t.backends[k], relay.Running
			}
			why = relay.BackendsFull
			if avoid == nil {
				avoid = picker.NewSet(len(t.backends))
			}
			avoid.Add(k)
		}
	}
	return nil, why
}

// indexes returns the places of the given backends in t; nil for none.
func (t *tier) indexes(of []*Backend) *picker.Set {
	if len(of) == 0 {
		return nil
	}
	set := picker.NewSet(len(t.backends))
	for _, b := range of {
		if place, is := t.places[b]; is {
			set.Add(place)
		}
	}
	return set
}

// tiersOf sorts backends into tiers; within one they keep their order.
func tiersOf(backends []*Backend) []tier {
	var tiers []tier
	for _, b := range backends {
		i := slices.IndexFunc(tiers, func(t tier) bool {
			return t.ejected == b.ejected && t.priority == b.cfg.Priority && t.health == b.health
		})
		if i < 0 {
			i = len(tiers)
			tiers = append(tiers, tier{ejected: b.ejected, priority: b.cfg.Priority, health: b.health})
		}
		tiers[i].backends = append(tiers[i].backends, b)
	}
	slices.SortFunc(tiers, func(a, b tier) int {
		switch {
		case a.ejected != b.ejected && a.ejected:
			return 1
		case a.ejected != b.ejected:
			return -1
		}
		// Up is greater than Unknown, and better.
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(b.health, a.health))
	})
	return tiers
}

// candidates returns what a policy sees of the tier's backends.
func (t *tier) candidates() []picker.Backend {
	c := make([]picker.Backend, len(t.backends))
	for i, b := range t.backends {
		c[i] = picker.Backend{ID: b.cfg.Name, Weight: t.weights[i], Load: &b.active}
	}
	return c
}

// cursors are the round-robin positions by priority, kept over rebuilds. Every session
// writes one, so each has a cache line to itself.
type cursors map[int]*cursor

type cursor struct {
	atomic.Uint64
	_ [56]byte
}

func (c cursors) of(priority int) *atomic.Uint64 {
	if c[priority] == nil {
		c[priority] = new(cursor)
	}
	return &c[priority].Uint64
}
