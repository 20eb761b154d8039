package metrics

import (
	"math"
	"sync/atomic"
	"time"
)

// period is the length of a window: quantiles are of the last one to two of them.
const period = 30 * time.Second

// recent counts the newest durations by cell, in two windows that take turns. Whoever
// counts first in a new period empties the older one; what others count in these few
// microseconds may be lost, which a quantile can bear and a lock could not.
type recent struct {
	origin  time.Time // of the periods; monotonic
	windows [2]window
}

type window struct {
	number atomic.Int64 // of the period it is for, from 1; 0 = none yet
	cells  []atomic.Uint32
}

func newRecent(l *layout) *recent {
	r := &recent{origin: time.Now()}
	for i := range r.windows {
		r.windows[i].cells = make([]atomic.Uint32, len(l.native))
	}
	return r
}

// observe counts one duration in a cell.
func (r *recent) observe(cell int) {
	now := 1 + int64(time.Since(r.origin)/period)
	w := &r.windows[now%2]
	if old := w.number.Load(); old < now && w.number.CompareAndSwap(old, now) {
		for i := range w.cells {
			w.cells[i].Store(0)
		}
	}
	w.cells[cell].Add(1)
}

// counts returns the cells of the period and the one before it; if nothing was counted
// in them, those of the newest two adjoining ones in which something was.
func (r *recent) counts() (cells []uint64, total uint64) {
	newest := max(r.windows[0].number.Load(), r.windows[1].number.Load())
	// A window that is not filled yet must not hide the one before it, but one that
	// nobody has emptied for long must not count.
	oldest := newest - 1
	if now := 1 + int64(time.Since(r.origin)/period); newest == now-1 {
		oldest = newest
	}
	cells = make([]uint64, len(r.windows[0].cells))
	for i := range r.windows {
		if n := r.windows[i].number.Load(); n == 0 || n < oldest {
			continue
		}
		for c := range cells {
			n := uint64(r.windows[i].cells[c].Load())
			cells[c] += n
			total += n
		}
	}
	return cells, total
}

// quantiles returns the durations below which the shares qs of the newest ones are;
// 0 = there are none.
func (h *Histogram) quantiles(qs ...float64) []time.Duration {
	out := make([]time.Duration, len(qs))
	cells, total := h.recent.counts()
	if total == 0 {
		return out
	}
	for i, q := range qs {
		rank := max(1, uint64(math.Ceil(q*float64(total))))
		for c, n := range cells {
			if rank <= n {
				out[i] = h.layout.middle(c)
				break
			}
			rank -= n
		}
	}
	return out
}
