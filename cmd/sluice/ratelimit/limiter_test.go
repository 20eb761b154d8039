package ratelimit

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// addr returns the i-th IPv6 source: each is a /64 of its own.
func addr(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i), 15: 1})
}

// allowed returns how many of n connections at once are let in.
func allowed(l *Limiter, source netip.Addr, n int) (ok int) {
	for range n {
		if l.Allow(source) {
			ok++
		}
	}
	return ok
}

func TestASourceHasItsBurstAndThenItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10, 20, 0)
		a := netip.MustParseAddr("192.0.2.1")
		if n := allowed(l, a, 100); n != 20 {
			t.Fatalf("%d at once, not 20", n)
		}
		time.Sleep(99 * time.Millisecond)
		if l.Allow(a) {
			t.Error("let in before its token")
		}
		time.Sleep(time.Millisecond)
		if n := allowed(l, a, 2); n != 1 {
			t.Errorf("%d after a tenth of a second, not 1", n)
		}
		time.Sleep(time.Second)
		if n := allowed(l, a, 100); n != 10 {
			t.Errorf("%d after a second, not 10", n)
		}
		time.Sleep(time.Hour)
		if n := allowed(l, a, 100); n != 20 {
			t.Errorf("%d after an hour, not the burst", n)
		}
	})
}

func TestTheBurstIsTheRateUnlessGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, burst := range []int{0, -1} {
			if n := allowed(New(7, burst, 0), addr(1), 100); n != 7 {
				t.Errorf("burst %d: %d at once, not 7", burst, n)
			}
		}
	})
}

func TestWhatCountsAsOneSource(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:0:0:2", true},
		{"2001:db8:0:1::1", "2001:db8:0:2::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"0.0.0.0", "::", false},
		{"32.1.13.184", "2001:db8::", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New(1, 1, 0)
			l.Allow(netip.MustParseAddr(c.a))
			if same := !l.Allow(netip.MustParseAddr(c.b)); same != c.same {
				t.Errorf("%s and %s: same source %v, not %v", c.a, c.b, same, c.same)
			}
		})
	}
}

func TestAClientWithoutAnAddressIsAlwaysLetIn(t *testing.T) {
	l := New(1, 1, 0)
	if n := allowed(l, netip.Addr{}, 100); n != 100 || l.Sources() != 0 {
		t.Errorf("%d of 100 let in, %d remembered", n, l.Sources())
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	for _, rate := range []int{0, -1} {
		l := New(rate, 0, 0)
		if n := allowed(l, addr(1), 100); n != 100 || l.Sources() != 0 {
			t.Errorf("rate %d: %d of 100 let in, %d remembered", rate, n, l.Sources())
		}
	}
}

func TestTheRateChangesForSourcesThatAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10, 0, 0)
		a := addr(1)
		allowed(l, a, 100)
		l.SetRate(100)
		if l.Allow(a) {
			t.Error("a new rate brought a token at once")
		}
		time.Sleep(100 * time.Millisecond)
		if n := allowed(l, a, 100); n != 10 {
			t.Errorf("%d after a tenth of a second at 100, not 10", n)
		}
		time.Sleep(time.Hour)
		l.SetRate(5)
		if n := allowed(l, a, 100); n != 5 {
			t.Errorf("%d at once, not the new burst of 5", n)
		}
	})
}

func TestAGivenBurstStaysWhenTheRateChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10, 3, 0)
		l.SetRate(100)
		if n := allowed(l, addr(1), 100); n != 3 {
			t.Errorf("%d at once, not 3", n)
		}
	})
}

func TestALimitCanBeTurnedOffAndOnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 0, 0)
		allowed(l, addr(1), 5)
		l.SetRate(0)
		if n := allowed(l, addr(1), 100); n != 100 || l.Sources() != 0 {
			t.Errorf("off: %d of 100 let in, %d remembered", n, l.Sources())
		}
		l.SetRate(2)
		if n := allowed(l, addr(1), 100); n != 2 {
			t.Errorf("on again: %d let in, not 2", n)
		}
	})
}
