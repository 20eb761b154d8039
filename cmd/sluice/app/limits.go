package app

import (
	"runtime"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/l4"
)

// ownDescriptors is what the process holds for itself: its standard streams, the
// poller's two, and room for a log file or a name lookup.
const ownDescriptors = 8

// limits is how the process's descriptors are shared out.
type limits struct {
	descriptors *l4.Descriptors
	reserved    int  // that are not for sessions
	pipes       int  // for bulk transfers
	tight       bool // sessions and probes may get into each other's way
}

// limitsFor shares out a descriptor limit; zero or less is none. Sessions get what is
// left when the process, its relay engine, its listeners (two each), a probe in flight for each backend,
// and a sixteenth for pipes have been set aside, but at least half: then tight is set. Of
// the pipes some are left to the standard library, which keeps a few for each processor.
func limitsFor(file config.File, limit, engine int) limits {
	if limit <= 0 {
		return limits{descriptors: l4.NewDescriptors(0, 0)}
	}
	reserved := ownDescriptors + engine + limit/16
	if file.Admin != nil {
		reserved += adminConnections(limit) + 1
	}
	for _, s := range file.Services {
		reserved += 2 * len(s.Listen)
		if s.Check.Type != "none" {
			reserved += len(s.Backends)
		}
	}
	most := min(reserved, limit/2)
	return limits{
		descriptors: l4.NewDescriptors(limit, most),
		reserved:    most,
		pipes:       max(limit/32-2*runtime.GOMAXPROCS(0), 1),
		tight:       reserved > limit/2,
	}
}

// adminConnections returns how many connections the admin page may have at one time, for
// which descriptors are reserved: it answers when all others are used up.
func adminConnections(limit int) int {
	if limit <= 0 {
		return mostAdmin
	}
	return min(mostAdmin, max(limit/16, 4))
}

const mostAdmin = 64
