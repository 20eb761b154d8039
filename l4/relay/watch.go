package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// longestTick is how long a direction in bulk may go without counting, at most.
const longestTick = time.Second

// watchdog is a run's inactivity timer.
type watchdog struct {
	began  time.Time    // what active counts from
	active atomic.Int64 // nanoseconds after began at which a byte last moved

	mu     sync.Mutex // guards the rest
	timer  *time.Timer
	over   bool // the session has ended: no timer may be armed any more
	queued bool // a peer had bytes to acknowledge at the last look
}

// touch notes that a byte moved.
func (r *run) touch() { r.active.Store(int64(time.Since(r.began))) }

// limit returns the inactivity that ends the session in its present state; zero or
// less is none.
func (r *run) limit() (time.Duration, Why) { return r.s.limits().Inactivity(r.ending()) }

// Inactivity returns the limit that holds before, or after, a direction has ended, and the
// reason of an end by it; zero or less is none.
func (l Limits) Inactivity(ending bool) (time.Duration, Why) {
	if ending && l.HalfClose > 0 && (l.Idle <= 0 || l.HalfClose < l.Idle) {
		return l.HalfClose, HalfClose
	}
	return l.Idle, Idle
}

// watch arms the timer for the present state. It is called at the start and when a
// direction ends.
func (r *run) watch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.s.limits().patrol()
	if limit, _ := r.limit(); limit > 0 {
		wait = min(wait, limit)
	}
	r.arm(wait)
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
		if r.inspect(&r.legs[i]) {
			return End{r.legs[i].who, Timeout}
		}
	}
	if r.draining() {
		r.touch()
	}
	again, e := r.s.limits().judge(time.Since(r.began)-time.Duration(r.active.Load()), r.ending(), r.queued)
	if e.Why == Running {
		r.arm(again)
	}
	return e
}

// judge returns how a session ends that is quiet for so long, or else in what time it
// is to be looked at again.
func (l Limits) judge(quiet time.Duration, ending, queued bool) (again time.Duration, e End) {
	again = l.patrol()
	limit, why := l.Inactivity(ending)
	switch {
	case limit <= 0:
		return again, End{}
	case quiet >= limit:
		return 0, End{Sluice, why}
	case queued:
		again = min(again, limit/4)
	}
	return min(again, limit-quiet), End{}
}

// draining is drains of the session's readers. With mu held, after inspect.
func (r *run) draining() bool {
	return drains(&r.legs[ToClient].inspection, &r.legs[ToBackend].inspection, &r.queued)
}

// drains tells whether a slow reader has acknowledged bytes since the last look, of
// those that were written to it before: it takes longer for them than the limit, yet
// bytes move. Whether there are such bytes it keeps in queued.
func drains(client, backend *inspection, queued *bool) bool {
	before := *queued
	*queued = client.queued || backend.queued
	return *queued && (client.moved || backend.moved) || before && !*queued
}

// tick bounds how long a direction in bulk may go without counting.
func (r *run) tick() time.Duration {
	if limit, _ := r.limit(); limit > 0 {
		return min(longestTick, limit/4)
	}
	return longestTick
}
