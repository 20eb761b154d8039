package l4

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/picker"
)

// Choice tells which backend a client would get now, and why.
type Choice struct {
	Balance    string
	Key        uint64 // the client's hash
	Digest     uint64 // of the picker that chose; 0 = there is none
	Backend    string // "" = none
	Certain    bool   // the same client gets the same backend next time, as long as no state changes
	Why        string
	Candidates []Candidate // in the order of their use
	Excluded   []Exclusion
}

// Candidate is a backend that may be chosen.
type Candidate struct {
	Backend  string
	Tier     int // 1 is used first
	Priority int
	Health   Health
	Weight   int // at present; all weights are scaled while one climbs
	Sessions int64
}

// Exclusion is a backend that may not be chosen.
type Exclusion struct {
	Backend, Reason string
}

// Choose tells which backend a client would get now. Nothing is reserved, and nobody's turn
// is used up.
func (s *Service) Choose(client netip.Addr) Choice {
	c := s.pool.choice(picker.Hash(client))
	cfg := s.cfg()
	switch {
	case contains(cfg.Deny, client):
		c.Backend, c.Certain, c.Why = "", true, "the client is denied (deny)"
	case len(cfg.Allow) > 0 && !contains(cfg.Allow, client):
		c.Backend, c.Certain, c.Why = "", true, "the client is not among those allowed (allow)"
	case s.paused():
		c.Backend, c.Certain, c.Why = "", true, "the service is paused: clients wait"
	}
	return c
}

// choice is the pool's part.
func (p *Pool) choice(key uint64) Choice {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := Choice{Balance: p.balance, Key: key, Why: "no backend is usable", Certain: true}
	v := p.draft()
	for i := range v.tiers {
		cursor := &atomic.Uint64{}
		cursor.Store(v.tiers[i].cursor.Load())
		v.tiers[i].cursor = cursor
	}
	if err := v.complete(p.balance); err != nil {
		c.Why = err.Error()
		return c
	}
	for i := range v.tiers {
		c.look(&v.tiers[i], i+1)
	}
	for _, b := range p.backends {
		if !b.eligible() {
			c.Excluded = append(c.Excluded, Exclusion{b.cfg.Name, b.excuse()})
		}
	}
	if c.Backend == "" && len(v.tiers) > 0 {
		c.Why = "every usable backend has all the sessions it may have (max_connections)"
	}
	return c
}

// look takes a tier's backends into account; the first tier that has one decides.
func (c *Choice) look(t *tier, number int) {
	full := make([]bool, len(t.backends))
	n := 0
	for i, b := range t.backends {
		active, limit := b.active.Load(), b.limit.Load()
		if limit > 0 && active >= limit {
			full[i] = true
			c.Excluded = append(c.Excluded, Exclusion{b.cfg.Name, fmt.Sprintf("has %d sessions of the %d that it may have (max_connections)", active, limit)})
			continue
		}
		n++
		c.Candidates = append(c.Candidates, Candidate{
			Backend: b.cfg.Name, Tier: number, Priority: b.cfg.Priority, Health: b.health, Weight: t.weights[i], Sessions: active,
		})
	}
	if c.Backend != "" || n == 0 {
		return
	}
	c.Digest = t.picker.Digest()
	if k := t.would(c.Key, full); k >= 0 {
		c.Backend = t.backends[k].cfg.Name
		c.Certain = n == 1 || slices.Contains([]string{picker.SourceHash, picker.Maglev, picker.First}, c.Balance)
		c.Why = reasonOf(c.Balance)
		if n == 1 {
			c.Why = "it is the only one to be had"
		}
		if number > 1 {
			c.Why += fmt.Sprintf(" (priority %d, %s", t.priority, t.health)
			if t.ejected {
				c.Why += ", ejected: the others have nothing free"
			}
			c.Why += ")"
		}
	}
}

// would tells which backend choose would take; see there.
func (t *tier) would(key uint64, full []bool) int {
	var avoid *picker.Set
	k := t.picker.Pick(key, nil)
	for k >= 0 && full[k] {
		if avoid == nil {
			avoid = picker.NewSet(len(t.backends))
		}
		avoid.Add(k)
		k = t.picker.Pick(key, avoid)
	}
	return k
}

// reasonOf says why a policy chooses as it does.
func reasonOf(policy string) string {
	switch policy {
	case picker.RoundRobin:
		return "its turn is next"
	case picker.LeastConn:
		return "it has the fewest sessions for its weight"
	case picker.P2C:
		return "it has fewer sessions for its weight than another one drawn at random; the next draw may differ"
	case picker.Random:
		return "drawn at random in proportion to the weights; the next draw may differ"
	case picker.SourceHash:
		return "its point on the ring follows the client's hash"
	case picker.Maglev:
		return "the client's hash points to its entry of the table"
	case picker.First:
		return "it is the first in the file that may be used"
	}
	return ""
}

// excuse tells why b may have no session. With the pool's mutex held.
func (b *Backend) excuse() string {
	switch {
	case b.admin != Ready:
		return b.admin.String() + ": " + b.ordered.reason
	case b.cfg.Weight == 0:
		return "its weight is 0"
	case b.pending:
		return "no writer is chosen before every backend has been probed once"
	}
	return b.status() + ": " + b.why().reason
}

// Validate tells whether New would take the configuration, and its pool the backends.
func Validate(c Config, backends []BackendConfig) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	p := newPool(poolConfig{service: c.Name, balance: c.Balance, log: c.Log, rules: rulesOf(c)}, c.SlowStart)
	var all []member
	for _, b := range backends {
		b = b.named()
		if err := b.fault(); err != nil {
			return err
		}
		all = append(all, member{cfg: b})
	}
	return p.fits(all)
}
