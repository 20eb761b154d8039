package l4

import (
	"net/netip"
	"testing"
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
