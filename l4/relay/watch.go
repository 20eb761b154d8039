package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// stallCheck is how often a session that looks idle while a write of it is blocked
// is looked at again, at most.
const stallCheck = time.Second

// watchdog is a run's inactivity timer.
type watchdog struct {
	began  time.Time    // what active counts from
	active atomic.Int64 // nanoseconds after began at which a byte last moved

	mu    sync.Mutex // guards the rest
	timer *time.Timer
	over  bool   // the session has ended: no timer may be armed any more
	acked uint64 // bytes the peers had acknowledged when last asked
}

// touch notes that a byte moved.
func (r *run) touch() { r.active.Store(int64(time.Since(r.began))) }

// limit returns the inactivity that ends the session in its present state; zero or
// less is none.
func (r *run) limit() (time.Duration, Why) {
	idle, half := r.s.Limits.Idle, r.s.Limits.HalfClose
	if r.ending() && half > 0 && (idle <= 0 || half < idle) {
		return half, HalfClose
	}
	return idle, Idle
}

// watch arms the timer for the limit of the present state. It is called at the start
// and when a direction ends.
func (r *run) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit, _ := r.limit(); limit > 0 {
		r.arm(limit)
	}
}

// arm sets the timer; with mu held.
func (r *run) arm(d time.Duration) {
	switch {
	case r.over:
	case r.timer == nil:
		r.timer = time.AfterFunc(d, r.check)
	default:
		r.timer.Reset(d)
	}
}

func (r *run) stopWatch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// check is the timer's: it cuts a session that has been inactive for its limit.
func (r *run) check() {
	if r.expired() {
		_, why := r.limit()
		r.conclude(End{Sluice, why})
		r.cut()
	}
}

// expired tells whether the session's limit has passed, and arms the timer anew if
// not.
func (r *run) expired() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit, _ := r.limit()
	quiet := time.Since(r.began) - time.Duration(r.active.Load())
	switch {
	case r.over || limit <= 0:
		return false
	case quiet < limit:
		r.arm(limit - quiet)
		return false
	case r.delivering() && r.progressed():
		// A slow reader: one write lasts longer than the limit, yet bytes move.
		r.arm(min(limit/4, stallCheck))
		return false
	}
	return true
}

func (r *run) delivering() bool {
	return r.pumps[ToBackend].delivering.Load() || r.pumps[ToClient].delivering.Load()
}

// progressed asks whether the peers have acknowledged bytes since the last time;
// with mu held.
func (r *run) progressed() bool {
	n := acknowledged(r.s.Client) + acknowledged(r.s.Backend)
	moved := n != r.acked
	r.acked = n
	return moved
}

// tick bounds how long a direction in bulk may go without counting.
func (r *run) tick() time.Duration {
	if idle := r.s.Limits.Idle; idle > 0 {
		return min(stallCheck, idle/4)
	}
	return stallCheck
}
