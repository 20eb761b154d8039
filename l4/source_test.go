package l4

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatASourceIsCountedUnder(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1":             "192.0.2.1",
		"255.255.255.255":       "255.255.255.255",
		"2001:db8:1:2:3:4:5:6":  "2001:db8:1:2::",
		"fe80::1%eth0":          "fe80::",
		"::1":                   "::",
		"2001:db8:1:2:ffff::":   "2001:db8:1:2::",
		"2001:db8:1:3:ffff::%x": "2001:db8:1:3::",
	} {
		if got := sourceOf(netip.MustParseAddr(in)); got != netip.MustParseAddr(want) {
			t.Errorf("%s is counted under %s, want %s", in, got, want)
		}
	}
}

func TestSourcesKeepNothingOfWhoHasLeft(t *testing.T) {
	var s sources
	a := netip.MustParseAddr("192.0.2.1")
	s.leave(netip.Addr{}) // never counted
	parallel(50, func(int) {
		for range 100 {
			if s.enter(a, 3) {
				s.leave(a)
			}
		}
	})
	if len(s.n) != 0 {
		t.Errorf("left: %v", s.n)
	}
}

func TestAThrottleLetsOneASecondThroughAndCountsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var th throttle
		for _, c := range []struct {
			after      time.Duration
			ok         bool
			suppressed int64
		}{
			{0, true, 0}, {0, false, 0}, {time.Second - 1, false, 0}, {1, true, 2},
			{time.Second, true, 0}, {time.Millisecond, false, 0}, {time.Hour, true, 1},
		} {
			time.Sleep(c.after)
			if n, ok := th.allow(time.Now()); ok != c.ok || n != c.suppressed {
				t.Errorf("%v: %d, %v, want %d, %v", time.Now(), n, ok, c.suppressed, c.ok)
			}
		}
	})
}

func TestOfManyAtOnceAThrottleLetsOneThrough(t *testing.T) {
	var th throttle
	now := time.Now()
	passed := make([]bool, 100)
	parallel(100, func(i int) { _, passed[i] = th.allow(now) })
	n := 0
	for _, ok := range passed {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d passed", n)
	}
	if suppressed, ok := th.allow(now.Add(time.Second)); !ok || suppressed != 99 {
		t.Errorf("%d suppressed, %v", suppressed, ok)
	}
}
