package picker

import (
	"math/bits"
	"net/netip"
	"testing"
)

// The keys are part of what instances agree on: a change here moves every client.
func TestHashIsXXHash64OfTheAddressBytes(t *testing.T) {
	invalid := Hash(netip.Addr{})
	if invalid != 0xef46db3751d8e999 {
		t.Errorf("invalid address: %#x, want xxhash64 of nothing", invalid)
	}
	plain := Hash(netip.MustParseAddr("192.0.2.1"))
	for _, s := range []string{"::ffff:192.0.2.1", "::ffff:192.0.2.1%eth0"} {
		if got := Hash(netip.MustParseAddr(s)); got != plain {
			t.Errorf("%s: %#x, want that of 192.0.2.1, %#x", s, got, plain)
		}
	}
	link := Hash(netip.MustParseAddr("fe80::1"))
	if got := Hash(netip.MustParseAddr("fe80::1%eth1")); got != link {
		t.Errorf("the zone changes the key: %#x, want %#x", got, link)
	}
	if plain == link || plain == invalid || link == invalid {
		t.Error("different addresses have the same key")
	}
	// The same 4 bytes as an IPv6 prefix are another address.
	if Hash(netip.MustParseAddr("c000:201::")) == plain {
		t.Error("an IPv6 address has the key of an IPv4 address")
	}
}

func TestHashAllocatesNothing(t *testing.T) {
	four, six := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fe80::1%eth0")
	if got := testing.AllocsPerRun(100, func() { Hash(four); Hash(six); Hash(netip.Addr{}) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestMix64MovesHalfOfTheBits(t *testing.T) {
	for bit := range 64 {
		moved := 0
		for x := range uint64(200) {
			moved += bits.OnesCount64(mix64(x) ^ mix64(x^1<<bit))
		}
		if mean := float64(moved) / 200; mean < 29 || mean > 35 {
			t.Errorf("bit %d moves %.1f bits", bit, mean)
		}
	}
}

// The first values of splitmix64 seeded with 1234567, as published with Vigna's
// reference code.
func TestPointsAreTheSplitmix64Sequence(t *testing.T) {
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423}
	for k, w := range want {
		if got := point(1234567, k); got != w {
			t.Errorf("value %d is %d, want %d", k, got, w)
		}
	}
}
