package l4

import (
	"math"
	"sync/atomic"
)

// perSession is what a session holds: the client's socket and the backend's.
const perSession = 2

// Descriptors is the budget of file descriptors that all services of a process share.
// A nil Descriptors has no bound.
//
// A process needs 2 a session, 2 a pipe of a bulk transfer (the engine's MaxPipes), 2
// an event loop (relay.Loops), 1 a listener, 1 spare a listener, 1 a probe in flight, and about 8 of its own.
type Descriptors struct {
	limit  int64
	budget atomic.Int64
	used   atomic.Int64
}

// NewDescriptors returns a budget for sessions: the process's limit less reserved. A
// limit of zero or less is none.
func NewDescriptors(limit, reserved int) *Descriptors {
	d := &Descriptors{limit: int64(max(limit, 0))}
	d.Reserve(reserved)
	return d
}

// Reserve changes how many descriptors are not for sessions.
func (d *Descriptors) Reserve(reserved int) {
	if d.limit == 0 {
		d.budget.Store(math.MaxInt64)
		return
	}
	d.budget.Store(max(d.limit-int64(reserved), perSession))
}

// Full tells whether there is no room for one more session.
func (d *Descriptors) Full() bool { return d != nil && d.used.Load()+perSession > d.budget.Load() }

// Limit returns the process's limit that the budget was made from; 0 = none.
func (d *Descriptors) Limit() int {
	if d == nil {
		return 0
	}
	return int(d.limit)
}

// Sessions returns how many sessions the budget is for.
func (d *Descriptors) Sessions() int64 {
	if d == nil {
		return math.MaxInt64 / perSession
	}
	return d.budget.Load() / perSession
}

func (d *Descriptors) take(n int64) bool {
	for d != nil {
		now := d.used.Load()
		if now+n > d.budget.Load() {
			return false
		}
		if d.used.CompareAndSwap(now, now+n) {
			return true
		}
	}
	return true
}

func (d *Descriptors) give(n int64) {
	if d != nil {
		d.used.Add(-n)
	}
}
