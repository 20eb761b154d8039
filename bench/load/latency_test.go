package load

import (
	"sync"
	"testing"
	"time"
)

func TestQuantilesAreExactToThreeDigits(t *testing.T) {
	l := NewLatency()
	for i := 1; i <= 10_000; i++ {
		l.Record(time.Duration(i) * 10 * time.Microsecond)
	}
	for share, want := range map[float64]time.Duration{
		0.0001: 10 * time.Microsecond, 0.5: 50 * time.Millisecond, 0.9: 90 * time.Millisecond,
		0.99: 99 * time.Millisecond, 0.999: 99900 * time.Microsecond, 1: 100 * time.Millisecond,
	} {
		near(t, "a quantile", l.Quantile(share), want)
	}
	if l.Count() != 10_000 {
		t.Errorf("%d recorded", l.Count())
	}
}

func TestNothingRecordedIsZero(t *testing.T) {
	l := NewLatency()
	l.Record(time.Second)
	l.Reset()
	if l.Count() != 0 || l.Quantile(0.5) != 0 || l.Quantile(1) != 0 {
		t.Errorf("%d recorded, %v", l.Count(), l.Quantile(1))
	}
}

func TestWhatIsOutOfBoundsCountsAsTheBound(t *testing.T) {
	l := NewLatency()
	l.Record(-time.Second)
	near(t, "less than nothing", l.Quantile(1), 0)
	l.Record(time.Hour)
	near(t, "an hour", l.Quantile(1), 2*time.Minute)
	if l.Count() != 2 {
		t.Errorf("%d recorded", l.Count())
	}
}

func TestManyMayRecordAtOnce(t *testing.T) {
	l := NewLatency()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				l.Record(time.Millisecond)
			}
		})
	}
	all.Wait()
	if l.Count() != 8000 {
		t.Errorf("%d recorded", l.Count())
	}
}
