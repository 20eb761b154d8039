package picker

import (
	"encoding/binary"
	"net/netip"

	"github.com/cespare/xxhash/v2"
)

// golden is 2^64 divided by the golden ratio, made odd: the increment of
// splitmix64.
const golden = 0x9E3779B97F4A7C15

// Hash returns the key of a client for source-hash and maglev: xxhash64 of the
// 4 or 16 bytes of the address. An IPv4 address mapped into IPv6 counts as the
// IPv4 address and a zone is left out, so that it does not matter which kind of
// listener the client came through. The invalid address (a client that is not
// known) has the key of no bytes, always the same.
func Hash(addr netip.Addr) uint64 {
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		b := addr.As4()
		return xxhash.Sum64(b[:])
	case addr.Is6():
		b := addr.As16()
		return xxhash.Sum64(b[:])
	}
	return xxhash.Sum64(nil)
}

// mix64 is the finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014, with the constants of Vigna's
// splitmix64.c): a bijection in which each bit of x moves half of the result.
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// point returns the k-th value of the splitmix64 sequence seeded by the hash of
// an ID. A backend's points on the ring are a prefix of it.
func point(idHash uint64, k int) uint64 {
	return mix64(idHash + golden*uint64(k+1))
}

// digester hashes a decision function. Every string is preceded by its length,
// so different lists cannot run into the same bytes.
type digester struct {
	hash xxhash.Digest
	buf  []byte
}

// digestFlush is when buffered bytes go to the hash: writing a table word by
// word would cost more than building it.
const digestFlush = 4096

func newDigester(policy string) *digester {
	d := &digester{buf: make([]byte, 0, digestFlush+8)}
	d.hash.Reset()
	d.text(policy)
	return d
}

// backends adds identities and weights in the given order.
func (d *digester) backends(backends []Backend, order []int) *digester {
	for _, i := range order {
		d.text(backends[i].ID)
		d.word(uint64(backends[i].Weight))
	}
	return d
}

func (d *digester) text(s string) {
	d.word(uint64(len(s)))
	d.flush()
	_, _ = d.hash.WriteString(s) // never fails, by its documentation
}

func (d *digester) word(w uint64) {
	d.buf = binary.LittleEndian.AppendUint64(d.buf, w)
	if len(d.buf) >= digestFlush {
		d.flush()
	}
}

func (d *digester) flush() {
	_, _ = d.hash.Write(d.buf) // never fails, by its documentation
	d.buf = d.buf[:0]
}

func (d *digester) sum() uint64 {
	d.flush()
	return d.hash.Sum64()
}
