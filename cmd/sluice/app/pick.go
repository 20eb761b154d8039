package app

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// Pick implements api.Control.
func (a *App) Pick(name string, source netip.Addr) (api.Pick, error) {
	s, err := a.service(name)
	if err != nil {
		return api.Pick{}, err
	}
	if !source.IsValid() {
		return api.Pick{}, invalid("source: want an IP address")
	}
	source = source.Unmap().WithZone("")
	c := s.l4.Choose(source)
	p := api.Pick{
		Service: name, Source: source.String(), Balance: c.Balance, Choice: c.Backend, Certain: c.Certain, Why: c.Why,
		Candidates: []api.Candidate{}, Excluded: []api.Excluded{}, Key: fmt.Sprintf("%016x", c.Key), Digest: fmt.Sprintf("%016x", c.Digest),
	}
	for _, k := range c.Candidates {
		p.Candidates = append(p.Candidates, api.Candidate{
			Backend: k.Backend, Tier: k.Tier, Priority: k.Priority, Health: k.Health.String(), Weight: k.Weight, Sessions: k.Sessions,
		})
	}
	for _, e := range c.Excluded {
		p.Excluded = append(p.Excluded, api.Excluded(e))
	}
	return p, nil
}
