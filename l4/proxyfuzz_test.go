package l4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// split cuts b at random places.
func split(b []byte, seed uint64) *pieces {
	rng := rand.New(rand.NewPCG(seed, seed))
	var p pieces
	for len(b) > 0 {
		n := 1 + rng.IntN(min(len(b), 1+int(seed%64)))
		p = append(p, b[:n])
		b = b[n:]
	}
	return &p
}

// headerLength is the plain reading of the formats, to compare with.
func headerLength(b []byte) int {
	if b[0] == 'P' {
		return bytes.Index(b, []byte("\r\n")) + 2
	}
	return v2Fixed + int(binary.BigEndian.Uint16(b[14:]))
}

// C16: a header in pieces means what it means in one, and not a byte behind it is lost.
func FuzzProxyHeader(f *testing.F) {
	for i, c := range append(goodHeaders(), badHeaders()...) {
		f.Add([]byte(c.header+payload), uint64(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		original := bytes.Clone(b)
		h, rest, err := readProxyHeader(&pieces{b})
		p := split(b, seed)
		h2, rest2, err2 := readProxyHeader(p)
		if h != h2 || (err == nil) != (err2 == nil) {
			t.Fatalf("in one %v, %v; in pieces %v, %v", h, err, h2, err2)
		}
		if !bytes.Equal(b, original) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if !errors.Is(err, errProxyHeader) || !errors.Is(err2, errProxyHeader) {
				t.Fatalf("%v, %v", err, err2)
			}
			return
		}
		behind := b[headerLength(b):]
		if got := append(rest2, p.left()...); !bytes.Equal(got, behind) {
			t.Fatalf("behind the header %q, want %q", got, behind)
		}
		if !bytes.HasPrefix(behind, rest) {
			t.Fatalf("read behind the header: %q of %q", rest, behind)
		}
		if h.source.IsValid() != h.destination.IsValid() || h.source.Addr().Is4In6() || h.destination.Addr().Is4In6() {
			t.Fatalf("addresses %v", h)
		}
	})
}

func FuzzProxyHeaderRoundTrip(f *testing.F) {
	for _, a := range []string{"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "::", "255.255.255.255", "fe80::1"} {
		for _, b := range []string{"198.51.100.2", "2001:db8::2"} {
			f.Add(netip.MustParseAddr(a).AsSlice(), uint16(4096), netip.MustParseAddr(b).AsSlice(), uint16(443), "lo")
		}
	}
	f.Fuzz(func(t *testing.T, from []byte, fromPort uint16, to []byte, toPort uint16, zone string) {
		source, _ := netip.AddrFromSlice(from)
		destination, _ := netip.AddrFromSlice(to)
		want := headerAddresses{}
		if source.IsValid() && destination.IsValid() {
			want = headerAddresses{netip.AddrPortFrom(source.Unmap(), fromPort), netip.AddrPortFrom(destination.Unmap(), toPort)}
		}
		for version := 1; version <= 2; version++ {
			b := proxyHeader(version, netip.AddrPortFrom(source.WithZone(zone), fromPort), netip.AddrPortFrom(destination.WithZone(zone), toPort))
			h, rest, err := readProxyHeader(bytes.NewReader(append(b, payload...)))
			if err != nil || h != want || string(rest) != payload {
				t.Errorf("version %d: %q gives %v, %q, %v, want %v", version, b, h, rest, err, want)
			}
		}
	})
}
