package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of what a Latency tells apart: 64 ns at the least, and three digits.
const (
	leastLatency  = int64(64)
	mostLatency   = int64(2 * time.Minute)
	latencyDigits = 3
)

// Latency is a distribution of durations. It is safe for concurrent use; NewLatency
// makes one.
type Latency struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

// NewLatency returns an empty distribution.
func NewLatency() *Latency {
	return &Latency{h: hdrhistogram.New(leastLatency, mostLatency, latencyDigits)}
}

// Record adds d. Negative counts as zero, more than two minutes as that.
func (l *Latency) Record(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.h.RecordValue(min(max(int64(d), 0), mostLatency)) // fails only out of bounds
}

// Reset empties it.
func (l *Latency) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.h.Reset()
}

// Count is how many were recorded.
func (l *Latency) Count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.h.TotalCount()
}

// Quantile is the duration that the given share (0 to 1) does not exceed, to three
// digits; 1 is the longest. Of an empty distribution it is 0.
func (l *Latency) Quantile(share float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.h.ValueAtQuantile(share * 100))
}
