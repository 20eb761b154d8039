package fault

import (
	"math"
	"time"
)

// clock is an instant by both clocks: this process's times, and the monotonic clock by
// which backends tell theirs.
type clock struct {
	at        time.Time
	monotonic int64
}

// readClock reads both at once: of some tries the one in which the least time passed.
func readClock() clock {
	var c clock
	for best, try := int64(math.MaxInt64), 0; try < 10; try++ {
		before := monotonic()
		now := time.Now()
		if took := monotonic() - before; took < best {
			best, c = took, clock{now, before + took/2}
		}
	}
	return c
}

// when is a time of the monotonic clock as one of this process.
func (c clock) when(monotonic int64) time.Time {
	return c.at.Add(time.Duration(monotonic - c.monotonic))
}
