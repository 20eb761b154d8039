package app

import (
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/l4"
)

// ownDescriptors is what the process holds for itself: its standard streams, the
// poller's two, and room for a log file or a name lookup.
const ownDescriptors = 8

// limits is how the process's descriptors are shared out.
type limits struct {
	descriptors *l4.Descriptors
	pipes       int // for bulk transfers
}

// limitsFor shares out a descriptor limit; zero or less is none. Sessions get what is
// left when the process, its listeners (two each), a probe in flight for each backend,
// and an eighth for pipes have been set aside, but at least half.
func limitsFor(file config.File, limit int) limits {
	if limit <= 0 {
		return limits{descriptors: l4.NewDescriptors(0, 0)}
	}
	pipes := max(limit/16, 1)
	reserved := ownDescriptors + 2*pipes
	for _, s := range file.Services {
		reserved += 2 * len(s.Listen)
		if s.Check.Type != "none" {
			reserved += len(s.Backends)
		}
	}
	return limits{l4.NewDescriptors(limit, min(reserved, limit/2)), pipes}
}
