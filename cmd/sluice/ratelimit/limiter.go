package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

const (
	defaultSources = 65536
	maxShards      = 16
	// perShard is how many places a shard has at least; a small table has fewer shards, so
	// that chance does not fill one of them early.
	perShard = 256
)

// Limiter decides who may open a connection. Its methods may be called from any goroutine.
type Limiter struct {
	seed   maphash.Seed
	shards []shard

	setting sync.Mutex // held by SetRate, so that all shards get the same rate
	burst   int        // as given to New
}

// New returns a limiter that lets each source open perSecond connections a second, and
// burst at once after a pause. perSecond 0 or below is no limit; burst 0 or below is
// perSecond; maxSources, how many sources are remembered, is 65,536 if it is 0 or below.
func New(perSecond, burst, maxSources int) *Limiter {
	if maxSources <= 0 {
		maxSources = defaultSources
	}
	l := &Limiter{seed: maphash.MakeSeed(), burst: burst}
	l.shards = make([]shard, min(maxShards, max(1, maxSources/perShard)))
	for i := range l.shards {
		// The rest of the division goes to the first ones.
		l.shards[i].init((maxSources + len(l.shards) - 1 - i) / len(l.shards))
	}
	l.SetRate(perSecond)
	return l
}

// Allow tells whether source may open a connection now, and counts it if so.
func (l *Limiter) Allow(source netip.Addr) bool {
	if !source.IsValid() {
		return true
	}
	key := keyOf(source)
	s := &l.shards[maphash.Comparable(l.seed, key)%uint64(len(l.shards))]
	return s.allow(key)
}

// SetRate changes the rate, and the burst if that follows it. Sources keep the tokens
// that they have, up to the new burst. 0 or below turns the limit off, and forgets them.
func (l *Limiter) SetRate(perSecond int) {
	l.setting.Lock()
	defer l.setting.Unlock()
	burst := l.burst
	if burst <= 0 {
		burst = perSecond
	}
	for i := range l.shards {
		l.shards[i].setRate(rate.Limit(max(0, perSecond)), burst)
	}
}

// Sources returns how many sources are remembered; it never exceeds maxSources.
func (l *Limiter) Sources() (n int) {
	for i := range l.shards {
		n += l.shards[i].len()
	}
	return n
}

// key is a source: the first 8 bytes of an IPv6 address, or an IPv4 address.
type key struct {
	bits [8]byte
	v4   bool
}

func keyOf(a netip.Addr) key {
	if a = a.Unmap(); a.Is4() {
		k := key{v4: true}
		b := a.As4()
		copy(k.bits[:], b[:])
		return k
	}
	b := a.As16()
	return key{bits: [8]byte(b[:8])}
}
