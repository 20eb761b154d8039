package app

import (
	"encoding/binary"
	"net/netip"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/picker"
)

// movedSample is how many clients are asked for: the share is good to about half a percent.
const movedSample = 1 << 15

// moved returns which share of a service's clients get another backend, should all that may
// have sessions be up; false where clients are not chosen for by their hash, before or after.
func moved(old, s config.Service) (api.Moved, bool) {
	if !hashed(old.Balance) || !hashed(s.Balance) {
		return api.Moved{}, false
	}
	m := api.Moved{Service: s.Name, Balance: s.Balance}
	before, namesBefore := tableOf(old)
	after, namesAfter := tableOf(s)
	switch {
	case before == nil:
		return m, false // nobody had one
	case after == nil:
		m.Share, m.Needed = 1, 1
		return m, true
	}
	stays := map[string]bool{}
	for _, name := range namesAfter {
		stays[name] = true
	}
	moves, needed := 0, 0
	for i := range uint32(movedSample) {
		key := picker.Hash(sampleAddress(i))
		was, is := namesBefore[before.Pick(key, nil)], namesAfter[after.Pick(key, nil)]
		if was == is {
			continue
		}
		moves++
		if !stays[was] {
			needed++
		}
	}
	m.Share, m.Needed = float64(moves)/movedSample, float64(needed)/movedSample
	return m, moves > 0
}

func hashed(policy string) bool { return policy == picker.SourceHash || policy == picker.Maglev }

// sampleAddress spreads numbers over 10.0.0.0/8.
func sampleAddress(i uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24|i*2654435761>>8)
	return netip.AddrFrom4(b)
}

// tableOf returns the picker over the backends of the first priority, and their names; nil
// if there are none.
func tableOf(s config.Service) (picker.Picker, []string) {
	first, weights := -1, []int(nil)
	for _, b := range s.Backends {
		if b.Weight == 0 {
			continue
		}
		weights = append(weights, b.Weight)
		if first < 0 || b.Priority < first {
			first = b.Priority
		}
	}
	var all []picker.Backend
	var names []string
	for _, b := range s.Backends {
		if b.Weight > 0 && b.Priority == first {
			all = append(all, picker.Backend{ID: b.Name, Weight: b.Weight})
			names = append(names, b.Name)
		}
	}
	p, err := picker.New(s.Balance, all, picker.Options{RingPoints: picker.RingPoints(weights)})
	if err != nil {
		return nil, nil
	}
	return p, names
}
