package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// written returns what a scrape tells of h.
func written(h *Histogram) *dto.Histogram {
	var m dto.Metric
	h.write(&m)
	return m.Histogram
}

// nativeBuckets returns the native buckets by key, empty ones left out.
func nativeBuckets(h *dto.Histogram) map[int]uint64 {
	all := make(map[int]uint64)
	key, n, d := 0, int64(0), 0
	for _, s := range h.PositiveSpan {
		key += int(s.GetOffset())
		for range s.GetLength() {
			n += h.PositiveDelta[d]
			d++
			if n > 0 {
				all[key] = uint64(n)
			}
			key++
		}
	}
	return all
}

func TestDurationsFallIntoTheBucketsWhoseBoundsHoldThem(t *testing.T) {
	l := newLayout(100*time.Microsecond, time.Millisecond, time.Second)
	rng := rand.New(rand.NewPCG(1, 2))
	h := newHistogram(l, nil)
	var all []time.Duration
	for range 5000 {
		all = append(all, time.Duration(math.Exp(rng.Float64()*math.Log(100e9))))
	}
	all = append(all, 0, 1, 100*time.Microsecond, 100*time.Microsecond+1, time.Millisecond, time.Second, time.Second+1)
	native, le, sum := make(map[int]uint64), make([]uint64, len(l.le)), 0.0
	zero := uint64(0)
	for _, d := range all {
		h.Observe(d)
		sum += d.Seconds()
		for i, b := range l.le {
			if d.Seconds() <= b {
				le[i]++
			}
		}
		// A bucket's key is the power of 2^(1/8) that is its upper bound.
		if key := int(math.Ceil(math.Log2(d.Seconds()) * perTwo)); d == 0 || key <= lowest {
			zero++
		} else {
			native[key]++
		}
	}
	got := written(h)
	if got.GetSampleCount() != uint64(len(all)) || math.Abs(got.GetSampleSum()-sum) > 1e-3 {
		t.Errorf("count %d, sum %v; not %d, %v", got.GetSampleCount(), got.GetSampleSum(), len(all), sum)
	}
	for i, b := range got.Bucket {
		if b.GetCumulativeCount() != le[i] || b.GetUpperBound() != l.le[i] {
			t.Errorf("bucket %v: %d, not %d", b.GetUpperBound(), b.GetCumulativeCount(), le[i])
		}
	}
	if got.GetZeroCount() != zero {
		t.Errorf("%d in the zero bucket, not %d", got.GetZeroCount(), zero)
	}
	have := nativeBuckets(got)
	for key, n := range native {
		if have[key] != n {
			t.Errorf("native bucket %d: %d, not %d", key, have[key], n)
		}
	}
	if len(have) != len(native) {
		t.Errorf("%d native buckets, not %d", len(have), len(native))
	}
}

func TestTheSumOfNativeBucketsIsTheCount(t *testing.T) {
	h := newHistogram(newLayout(time.Millisecond), nil)
	for _, d := range []time.Duration{-time.Second, 0, time.Nanosecond, time.Millisecond, time.Minute, time.Hour, math.MaxInt64 / 2} {
		h.Observe(d)
	}
	got := written(h)
	n := got.GetZeroCount()
	for _, c := range nativeBuckets(got) {
		n += c
	}
	if n != 7 || got.GetSampleCount() != 7 {
		t.Errorf("%d in buckets, %d counted, not 7", n, got.GetSampleCount())
	}
	if c := nativeBuckets(got)[highest]; c != 2 {
		t.Errorf("%d in the last bucket, not what is longer: 2", c)
	}
}

func TestNativeBucketsAreAsWideAsSchemaSays(t *testing.T) {
	got := written(newHistogram(newLayout(time.Second), nil))
	if got.GetSchema() != 3 || got.GetZeroThreshold() <= 0 || got.ZeroCount == nil || got.GetCreatedTimestamp() == nil {
		t.Errorf("an empty histogram is not seen to be native: %v", got)
	}
	if max := highest - lowest; max > 200 {
		t.Errorf("%d buckets", max)
	}
	if f := math.Exp2(1.0 / perTwo); f > 1.1 {
		t.Errorf("factor %v", f)
	}
}

func TestObserveTakesNoMemory(t *testing.T) {
	m := with(redis())
	connect, probe := m.Connect("redis", "b1"), m.Probe("redis", "b1")
	d := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() {
		d = d*3/2 + 1000
		connect.Observe(d)
		probe.Observe(d)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestObserveOnNothingDoesNothing(t *testing.T) {
	var h *Histogram
	h.Observe(time.Second)
}

func TestQuantilesAreWithinTheirBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := with(redis())
		h := m.Connect("redis", "b1")
		for _, unit := range []time.Duration{10 * time.Microsecond, 137 * time.Microsecond, time.Millisecond, 300 * time.Millisecond} {
			time.Sleep(time.Hour)
			for i := 1; i <= 100; i++ {
				h.Observe(time.Duration(i) * unit)
			}
			p50, p99 := m.ConnectQuantiles("redis", "b1")
			checkClose(t, p50, 50*unit)
			checkClose(t, p99, 99*unit)
		}
	})
}

func checkClose(t *testing.T, got, want time.Duration) {
	t.Helper()
	if e := math.Abs(float64(got-want)) / float64(want); e > 0.045 {
		t.Errorf("%v, not %v: off by %.1f %%", got, want, 100*e)
	}
}

func TestQuantilesAreOfTheNewestPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := with(redis())
		h := m.Connect("redis", "b1")
		p50 := func() time.Duration { q, _ := m.ConnectQuantiles("redis", "b1"); return q }

		for range 1000 {
			h.Observe(time.Second)
		}
		checkClose(t, p50(), time.Second)
		time.Sleep(period) // both count now
		h.Observe(time.Millisecond)
		checkClose(t, p50(), time.Second)
		time.Sleep(period) // the first one is over, the second is not
		checkClose(t, p50(), time.Millisecond)
		h.Observe(time.Millisecond)
		checkClose(t, p50(), time.Millisecond)
	})
}

func TestQuantilesOfAQuietBackendAreThoseOfItsLastDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := with(redis())
		h := m.Connect("redis", "b1")
		h.Observe(time.Second)
		time.Sleep(24 * time.Hour)
		p50, p99 := m.ConnectQuantiles("redis", "b1")
		checkClose(t, p50, time.Second)
		checkClose(t, p99, time.Second)
		h.Observe(time.Millisecond)
		p50, p99 = m.ConnectQuantiles("redis", "b1")
		checkClose(t, p50, time.Millisecond)
		checkClose(t, p99, time.Millisecond)
	})
}

func TestQuantilesOfNothingAreZero(t *testing.T) {
	m := with(redis())
	m.Probe("redis", "b1")
	m.Connect("redis", "b2")
	for _, b := range []string{"b1", "b2", "b3"} {
		if p50, p99 := m.ConnectQuantiles("redis", b); p50 != 0 || p99 != 0 {
			t.Errorf("%s: %v, %v", b, p50, p99)
		}
	}
}
