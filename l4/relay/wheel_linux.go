package relay

import (
	"math/bits"
	"time"
)

// A wheel has levels of 64 buckets, each level eight times as coarse as the one
// before: the layout of the Linux kernel's timer wheel. A timer that is not due yet
// when its bucket is moves to a finer level, so that it fires within a millisecond.
const (
	wheelBuckets = 64
	wheelShift   = 3
	wheelLevels  = 8
	wheelReach   = (wheelBuckets - 1) << (wheelShift * (wheelLevels - 1)) // ms; later ones are looked at then
)

// none is no index.
const none = -1

// wheel holds at most one timer for each slot of a loop's table. Times are whole
// milliseconds on the loop's clock.
type wheel struct {
	now      int64 // up to which timers have fired
	occupied [wheelLevels]uint64
	first    [wheelLevels * wheelBuckets]int32 // heads of lists of slots
	timers   []*[chunkSize]timer
}

// timer is a slot's; in is its bucket plus one, zero for one that is not set.
type timer struct {
	due        int64
	next, prev int32
	in         int32
}

func newWheel() *wheel {
	w := &wheel{}
	for i := range w.first {
		w.first[i] = none
	}
	return w
}

// grow makes room for another chunk of slots.
func (w *wheel) grow() { w.timers = append(w.timers, new([chunkSize]timer)) }

func (w *wheel) timer(slot int32) *timer { return &w.timers[slot>>chunkBits][slot&chunkMask] }

// set sets the timer of a slot, in place of an earlier one. One that is due already
// fires with the next advance.
func (w *wheel) set(slot int32, due int64) {
	w.clear(slot)
	due = max(due, w.now+1)
	w.timer(slot).due = due
	delta, level := min(due-w.now, wheelReach), 0
	for delta >= (wheelBuckets-1)<<(wheelShift*level) && level < wheelLevels-1 {
		level++
	}
	bucket := int32(level*wheelBuckets) + int32((w.now+delta)>>(wheelShift*level)&(wheelBuckets-1))
	t := w.timer(slot)
	t.in, t.prev, t.next = bucket+1, none, w.first[bucket]
	if t.next != none {
		w.timer(t.next).prev = slot
	}
	w.first[bucket] = slot
	w.occupied[level] |= 1 << (bucket & (wheelBuckets - 1))
}

// clear stops the timer of a slot, if it is set.
func (w *wheel) clear(slot int32) {
	t := w.timer(slot)
	if t.in == 0 {
		return
	}
	bucket := t.in - 1
	if t.next != none {
		w.timer(t.next).prev = t.prev
	}
	if t.prev != none {
		w.timer(t.prev).next = t.next
	} else if w.first[bucket] = t.next; t.next == none {
		w.occupied[bucket/wheelBuckets] &^= 1 << (bucket & (wheelBuckets - 1))
	}
	t.in = 0
}

// next returns the earliest time at which advance may have something to do.
func (w *wheel) next() (at int64, any bool) {
	for level, occupied := range w.occupied {
		if occupied == 0 {
			continue
		}
		// The bucket of the present is the last one of a level's round.
		granule := w.now>>(wheelShift*level) + 1
		ahead := bits.TrailingZeros64(bits.RotateLeft64(occupied, -int(granule&(wheelBuckets-1))))
		if t := (granule + int64(ahead)) << (wheelShift * level); !any || t < at {
			at, any = t, true
		}
	}
	return at, any
}

// advance moves the wheel to now and appends to fired the slots whose timers are due
// by then.
func (w *wheel) advance(now int64, fired []int32) []int32 {
	for {
		at, any := w.next()
		if !any || at > now {
			w.now = max(w.now, now)
			return fired
		}
		w.now = at
		for level := range w.occupied {
			if at&(1<<(wheelShift*level)-1) != 0 {
				break
			}
			fired = w.empty(int32(level*wheelBuckets)+int32(at>>(wheelShift*level)&(wheelBuckets-1)), fired)
		}
	}
}

// empty fires the timers of a bucket that are due and moves the others.
func (w *wheel) empty(bucket int32, fired []int32) []int32 {
	for slot := w.first[bucket]; slot != none; slot = w.first[bucket] {
		if due := w.timer(slot).due; due > w.now {
			w.set(slot, due)
		} else {
			w.clear(slot)
			fired = append(fired, slot)
		}
	}
	return fired
}

// clock counts a loop's time.
type clock struct {
	began time.Time
	now   time.Duration // since then, when last asked
}

func (c *clock) tick() { c.now = time.Since(c.began) }

// ms returns the present in milliseconds, rounded down.
func (c *clock) ms() int64 { return int64(c.now / time.Millisecond) }

// after returns the first millisecond that is not before d from now.
func (c *clock) after(d time.Duration) int64 {
	return int64((c.now + min(d, maxWait) + time.Millisecond - 1) / time.Millisecond)
}

// maxWait is where a wait is cut, to be looked at again then.
const maxWait = wheelReach * time.Millisecond
