package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// shard is a part of the table of sources. Everything in it is guarded by mu.
type shard struct {
	mu      sync.Mutex
	limit   rate.Limit // 0 = no limit
	burst   int
	places  int
	sources map[key]*source

	// Both in the order of the last answer, the oldest first. All sources fill up at one
	// rate, so that among the refused, whose buckets were empty but for a part of a token, the oldest is about the fullest.
	within, over list
}

// source is a source and its bucket.
type source struct {
	key        key
	bucket     *rate.Limiter
	over       bool // the last answer was no
	prev, next *source
}

func (s *shard) init(places int) {
	s.places = places
	s.sources = make(map[key]*source)
	s.within.init()
	s.over.init()
}

func (s *shard) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sources)
}

// setRate changes every bucket, so that they stay comparable.
func (s *shard) setRate(limit rate.Limit, burst int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit, s.burst = limit, burst
	if limit == 0 {
		s.init(s.places)
		return
	}
	now := time.Now()
	for _, src := range s.sources {
		src.bucket.SetLimitAt(now, limit)
		src.bucket.SetBurstAt(now, burst)
	}
}

// allow answers for k. The clock is read with the mutex held, so that the order of the
// lists is that of time.
func (s *shard) allow(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit == 0 {
		return true
	}
	now := time.Now()
	src := s.sources[k]
	if src == nil {
		if src = s.admit(k, now); src == nil {
			return true
		}
	}
	ok := src.bucket.AllowN(now, 1)
	src.leave()
	src.over = !ok
	s.listOf(src).push(src)
	return ok
}

func (s *shard) listOf(src *source) *list {
	if src.over {
		return &s.over
	}
	return &s.within
}

// admit makes a place for k; nil if there is none.
func (s *shard) admit(k key, now time.Time) *source {
	// One of each list, so that a table with nothing new to remember shrinks.
	s.dropIdle(&s.within, now)
	s.dropIdle(&s.over, now)
	if len(s.sources) >= s.places {
		oldest := s.within.oldest()
		if oldest == nil {
			return nil
		}
		s.drop(oldest)
	}
	src := &source{key: k, bucket: rate.NewLimiter(s.limit, s.burst)}
	s.sources[k] = src
	s.within.push(src)
	return src
}

// dropIdle drops the oldest of a list if its bucket is full: it is then as if it had
// never been seen.
func (s *shard) dropIdle(l *list, now time.Time) {
	if src := l.oldest(); src != nil && src.bucket.TokensAt(now) >= float64(s.burst) {
		s.drop(src)
	}
}

func (s *shard) drop(src *source) {
	src.leave()
	delete(s.sources, src.key)
}

// list is a ring of sources; its end is not one of them.
type list struct{ end source }

func (l *list) init() { l.end.prev, l.end.next = &l.end, &l.end }

// push makes src, which is in no list, the newest.
func (l *list) push(src *source) {
	src.prev, src.next = l.end.prev, &l.end
	src.prev.next, l.end.prev = src, src
}

// oldest is nil if the list is empty.
func (l *list) oldest() *source {
	if l.end.next == &l.end {
		return nil
	}
	return l.end.next
}

// leave takes src out of the list that it is in.
func (src *source) leave() {
	src.prev.next, src.next.prev = src.next, src.prev
}
