package relay

import (
	"testing"
	"time"
)

func TestThePausesOfAWaitGrowWithIt(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0:                      firstPause,
		4 * firstPause:         firstPause,
		40 * time.Millisecond:  10 * time.Millisecond,
		time.Second:            250 * time.Millisecond,
		pauseShare * lastPause: lastPause,
		time.Hour:              lastPause,
	} {
		if got := pauseAfter(waited); got != want {
			t.Errorf("after %v: a pause of %v, want %v", waited, got, want)
		}
	}
}

func TestALongWaitAsksSeldom(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		most int
	}{{10 * time.Millisecond, 20}, {time.Second, 40}, {time.Minute, 200}, {time.Hour, 2*3600 + 100}} {
		asked := 0
		for waited := time.Duration(0); waited < c.wait; waited += pauseAfter(waited) {
			asked++
		}
		if asked > c.most {
			t.Errorf("asked %d times in %v, want at most %d", asked, c.wait, c.most)
		}
	}
}
