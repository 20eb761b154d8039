package proc

import "time"

// Moment is what the machine, and this process with the children it has waited for, had
// used of CPU at an instant.
type Moment struct {
	at        time.Time
	busy, own time.Duration
	cores     int
}

// Now reads it. An error may wrap errors.ErrUnsupported.
func Now() (Moment, error) { return moment() }

// Others is the share, from 0 to 1, of the CPU time of all cores since an earlier
// moment that neither went to this process and its children nor was idle. Children
// that were not waited for yet count as others.
func (m Moment) Others(earlier Moment) float64 {
	whole := m.at.Sub(earlier.at) * time.Duration(m.cores)
	if whole <= 0 {
		return 0
	}
	others := (m.busy - earlier.busy) - (m.own - earlier.own)
	return min(max(float64(others)/float64(whole), 0), 1)
}
