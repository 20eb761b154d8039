package demo

import "github.com/sluicelb/sluice/l4"

// recent tells each backend's share of the sessions of the last few seconds. The zero
// value is ready to use.
type recent struct {
	samples []sample // oldest first
}

// sample is every backend's total at one instant.
type sample map[string]int64

// recentSamples, one each redrawEvery, make five seconds.
const recentSamples = 10

// add takes a sample, and returns the shares since the oldest that is kept; all zero if
// there was no session.
func (r *recent) add(backends []l4.BackendStats) map[string]float64 {
	s := make(sample, len(backends))
	for _, b := range backends {
		s[b.Name] = b.Total
	}
	r.samples = append(r.samples, s)
	if len(r.samples) > recentSamples+1 {
		r.samples = r.samples[1:]
	}
	oldest, sum := r.samples[0], int64(0)
	for name, n := range s {
		sum += n - oldest[name]
	}
	shares := make(map[string]float64, len(s))
	for name, n := range s {
		if sum > 0 {
			shares[name] = float64(n-oldest[name]) / float64(sum)
		}
	}
	return shares
}
