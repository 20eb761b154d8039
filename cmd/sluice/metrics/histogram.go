package metrics

import (
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Histogram counts durations. Its methods may be called from any goroutine; those of a
// nil Histogram do nothing.
type Histogram struct {
	layout  *layout
	created *timestamppb.Timestamp
	cells   []atomic.Uint64
	sum     atomic.Int64 // ns
	recent  *recent      // nil = nobody asks for quantiles
}

func newHistogram(l *layout, r *recent) *Histogram {
	return &Histogram{layout: l, created: timestamppb.Now(), cells: make([]atomic.Uint64, len(l.native)), recent: r}
}

// Observe counts d; what is below 0 counts as 0. It takes no lock and no memory.
func (h *Histogram) Observe(d time.Duration) {
	if h == nil {
		return
	}
	d = max(d, 0)
	i := h.layout.cell(d)
	h.sum.Add(int64(d))
	h.cells[i].Add(1)
	if h.recent != nil {
		h.recent.observe(i)
	}
}

// write puts h into m, classic and native.
func (h *Histogram) write(m *dto.Metric) {
	var (
		l      = h.layout
		le     = make([]uint64, len(l.le)+1)
		native [highest - lowest + 1]int64
		total  uint64
	)
	for i := range h.cells {
		if n := h.cells[i].Load(); n > 0 {
			total += n
			le[l.classic[i]] += n
			native[l.native[i]] += int64(n)
		}
	}
	// The zero bucket is written even when it is empty: its threshold, with a schema, is
	// what marks a native histogram that has counted nothing yet.
	out := &dto.Histogram{
		SampleCount:      &total,
		SampleSum:        proto.Float64(time.Duration(h.sum.Load()).Seconds()),
		CreatedTimestamp: h.created,
		Bucket:           l.buckets(le),
		Schema:           proto.Int32(schema),
		ZeroThreshold:    proto.Float64(float64(l.bounds[0]) / 1e9),
		ZeroCount:        proto.Uint64(uint64(native[0])),
	}
	out.PositiveSpan, out.PositiveDelta = spans(native[1:])
	m.Histogram = out
}

// buckets returns the classic buckets of counts, which it sums up.
func (l *layout) buckets(counts []uint64) []*dto.Bucket {
	room := make([]dto.Bucket, len(l.le))
	all := make([]*dto.Bucket, len(l.le))
	for i := range l.le {
		if i > 0 {
			counts[i] += counts[i-1]
		}
		room[i].CumulativeCount, room[i].UpperBound = &counts[i], &l.le[i]
		all[i] = &room[i]
	}
	return all
}

// maxGap is how many empty buckets in a row are written as such, which is shorter than
// a new span.
const maxGap = 2

// spans returns the native buckets in the form that Prometheus takes: runs of buckets,
// and the difference of each count to the one before. counts[0] is of key lowest+1.
func spans(counts []int64) (runs []*dto.BucketSpan, deltas []int64) {
	next, before := 0, int64(0) // the bucket after the last run, the count of its last one
	for i, n := range counts {
		if n == 0 {
			continue
		}
		gap := i - next
		switch {
		case runs == nil:
			runs = append(runs, &dto.BucketSpan{Offset: proto.Int32(int32(lowest + 1 + i)), Length: proto.Uint32(0)})
		case gap > maxGap:
			runs = append(runs, &dto.BucketSpan{Offset: proto.Int32(int32(gap)), Length: proto.Uint32(0)})
		default:
			for range gap {
				deltas, before = append(deltas, -before), 0
				*runs[len(runs)-1].Length++
			}
		}
		*runs[len(runs)-1].Length++
		deltas, before = append(deltas, n-before), n
		next = i + 1
	}
	return runs, deltas
}
