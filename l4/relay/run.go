package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// letThrough asks again for what a peer has not acknowledged after pauses that grow
// with the time it has waited, from the first to the last: the kernel has no event for
// it.
const (
	firstPause = 200 * time.Microsecond
	lastPause  = 500 * time.Millisecond
	pauseShare = 4 // a pause is at most this part of the wait so far
	// blindPause is given before a reset where the system cannot be asked.
	blindPause = 250 * time.Millisecond
)

// run is what Portable keeps behind a session while it is relayed.
type run struct {
	engine *Portable
	s      *Session
	legs   [2]leg // by the direction that leads to them: legs[ToBackend] is the backend's
	pumps  [2]pump
	left   atomic.Int32 // pumps still running

	first  atomic.Uint32 // the Who that ended a direction first, in order
	end    atomic.Uint32 // how the session ends: Who<<8 | Why; 0 = not settled
	closed sync.Once
	gone   atomic.Bool // the connections are closed

	watchdog
}

func newRun(p *Portable, s *Session) *run {
	r := &run{engine: p, s: s}
	r.legs[ToBackend] = leg{conn: s.Backend, who: Backend}
	r.legs[ToClient] = leg{conn: s.Client, who: Client}
	r.pumps[ToBackend] = pump{r: r, dir: ToBackend, src: &r.legs[ToClient], dst: &r.legs[ToBackend]}
	r.pumps[ToClient] = pump{r: r, dir: ToClient, src: &r.legs[ToBackend], dst: &r.legs[ToClient]}
	r.legs[ToBackend].shut.Store(s.Shut)
	r.left.Store(2)
	r.began = time.Now()
	return r
}

// count adds n delivered bytes.
func (r *run) count(d Direction, n int64) {
	if n > 0 {
		r.s.moved[d].Add(n)
		r.touch()
	}
}

// conclude settles how the session ends, unless that is settled already.
func (r *run) conclude(e End) bool {
	r.s.NoteEnd()
	return r.end.CompareAndSwap(0, uint32(e.Who)<<8|uint32(e.Why))
}

// concluded returns what conclude settled.
func (r *run) concluded() End {
	e := r.end.Load()
	return End{Who(e >> 8), Why(e & 0xff)}
}

// ending tells whether a direction has ended, in whatever way.
func (r *run) ending() bool { return r.first.Load() != 0 || r.end.Load() != 0 || r.faulty() != nil }

// done is called by each pump when its direction is over; the last of the two ends the
// session, and gets true.
func (r *run) done() (over bool) {
	if r.left.Add(-1) > 0 {
		return false
	}
	if l := r.faulty(); l != nil {
		r.abort(l)
	}
	// An orderly close would leave the kernel what is queued, but to an owner-less
	// socket it is less patient than we are.
	r.letThrough(&r.legs[ToClient], 0)
	r.letThrough(&r.legs[ToBackend], 0)
	if l := r.faulty(); l != nil {
		r.abort(l)
	}
	r.conclude(End{Who(r.first.Load()), EOF})
	r.stopWatch()
	r.cut()
	r.s.Owner.RelayEnded(r.concluded())
	return true
}

// faulty returns a leg that was reset or has died, if there is one.
func (r *run) faulty() *leg {
	for i := range r.legs {
		if r.legs[i].fault() != sound {
			return &r.legs[i]
		}
	}
	return nil
}

// abort ends a session of which one leg was reset or has died: what was delivered
// to the other leg is let through, since a reset discards what is still queued, then
// that one is reset too.
func (r *run) abort(dead *leg) {
	if r.conclude(dead.verdict()) {
		r.touch()
		r.watch()
		r.letThrough(r.other(dead), blindPause)
		r.cut()
	}
}

func (r *run) other(l *leg) *leg {
	if l == &r.legs[ToBackend] {
		return &r.legs[ToClient]
	}
	return &r.legs[ToBackend]
}

// letThrough waits until l's peer has acknowledged all that was written to it, and
// notes on l if it died before. Inactivity ends the wait. Where the system cannot be
// asked it lasts for blind.
func (r *run) letThrough(l *leg, blind time.Duration) {
	var last int
	for began := time.Now(); !r.gone.Load() && l.fault() == sound; {
		left, lost, known := arrived(asked{l.conn})
		switch {
		case !known:
			time.Sleep(blind)
			return
		case left == 0:
			l.wrote.CompareAndSwap(uint32(sound), uint32(lost))
			return
		case left != last:
			last = left
			r.touch()
		}
		time.Sleep(pauseAfter(time.Since(began)))
	}
}

// pauseAfter returns when letThrough is to ask again after it has waited for so long.
func pauseAfter(waited time.Duration) time.Duration {
	return min(max(waited/pauseShare, firstPause), lastPause)
}

// cut closes both connections as the settled end demands, which wakes whoever waits
// on them.
func (r *run) cut() {
	r.gone.Store(true)
	r.closed.Do(r.close)
}

// close closes the client first: it is the one that waits to hear of it. Only through
// r.closed.
func (r *run) close() {
	if r.concluded().Why != EOF {
		resetOnClose(r.s.Client)
		resetOnClose(r.s.Backend)
	}
	r.s.Client.Close()
	r.s.Backend.Close()
}

// resetOnClose makes the coming Close of a TCP connection send a reset.
func resetOnClose(c Conn) {
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		l.SetLinger(0) // fails only on a connection that is gone
	}
}
