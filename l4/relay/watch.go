package relay

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// longestTick is how long a direction in bulk may go without counting, at most.
const longestTick = time.Second

// never is a wait that arms no timer.
const never = time.Duration(math.MaxInt64)

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

// watch arms the timer for the present state. It is called at the start and when a
// direction ends.
func (r *run) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.patrol()
	if limit, _ := r.limit(); limit > 0 {
		wait = min(wait, limit)
		r.progressed() // what was acknowledged before is no news later
	}
	r.arm(wait)
}

// arm sets the timer; with mu held.
func (r *run) arm(d time.Duration) {
	switch {
	case r.over || d == never:
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

// check is the timer's: it cuts a session whose time is over.
func (r *run) check() {
	if e := r.look(); e.Why != Running {
		r.conclude(e)
		r.cut()
	}
}

// look returns how the session is to end, and arms the timer anew if it is not.
func (r *run) look() End {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return End{}
	}
	for i := range r.legs {
		if r.liftUserTimeout(&r.legs[i]) {
			return End{r.legs[i].who, Timeout}
		}
	}
	wait := r.patrol()
	limit, why := r.limit()
	switch quiet := time.Since(r.began) - time.Duration(r.active.Load()); {
	case limit <= 0:
	case quiet < limit:
		wait = min(wait, limit-quiet)
		if !r.queued() {
			r.progressed()
		}
	case r.progressed():
		// A slow reader: what was written, or the one write that goes on, takes it
		// longer than the limit, yet bytes move. It has as long for its next ones.
		r.touch()
		wait = min(wait, limit)
	default:
		return End{Sluice, why}
	}
	r.arm(wait)
	return End{}
}

// queued tells whether a peer has yet to acknowledge bytes.
func (r *run) queued() bool {
	client, _ := unacknowledged(r.s.Client)
	backend, _ := unacknowledged(r.s.Backend)
	return client > 0 || backend > 0
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
	if limit, _ := r.limit(); limit > 0 {
		return min(longestTick, limit/4)
	}
	return longestTick
}
