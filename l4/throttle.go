package l4

import (
	"sync"
	"time"
)

// throttlePeriod is how often a throttle lets an event, or a number of them, through.
const throttlePeriod = time.Second

// throttle keeps a flood of like events from becoming a flood of log records: the
// first one passes, and those of each period after it are reported as a number when
// the period is over. The zero value is ready to use.
type throttle struct {
	mu      sync.Mutex
	timer   *time.Timer // runs while events are held back
	held    int64
	stopped bool
}

// pass tells whether this event is to be reported by itself; if not, report will be
// called with the number it belongs to.
func (t *throttle) pass(report func(n int64)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.stopped:
		return true
	case t.timer != nil:
		t.held++
		return false
	}
	t.timer = time.AfterFunc(throttlePeriod, func() { t.over(report) })
	return true
}

// over ends a period; another one follows if it held events back.
func (t *throttle) over(report func(n int64)) {
	t.mu.Lock()
	n := t.held
	t.held = 0
	switch {
	case t.stopped:
	case n > 0:
		t.timer.Reset(throttlePeriod)
	default:
		t.timer = nil
	}
	t.mu.Unlock()
	if n > 0 {
		report(n)
	}
}

// stop reports what is held back; from now on every event passes.
func (t *throttle) stop(report func(n int64)) {
	t.mu.Lock()
	t.stopped = true
	n := t.held
	t.held = 0
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	if n > 0 {
		report(n)
	}
}
