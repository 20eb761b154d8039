package main

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	logQueueLen = 8192        // records that may wait for a slow reader, some 3 MB at most
	lastWords   = time.Second // for the reader to take what is left at the end
)

// logQueue lets a log be slower than what it is written by: a pipe that nobody reads
// must hold up neither sessions nor the end of the process. Records wait in a bounded
// queue; those for which there is no room are counted, and the count is reported when
// the reader is back.
type logQueue struct {
	w       io.Writer
	report  func(dropped int64) // writes to w
	records chan []byte
	dropped atomic.Int64 // since that was reported
	total   atomic.Int64
	stop    chan struct{}
	done    chan struct{}
}

// newLogQueue starts the goroutine that writes to w; Close ends it.
func newLogQueue(w io.Writer, report func(dropped int64)) *logQueue {
	q := &logQueue{w: w, report: report, records: make(chan []byte, logQueueLen), stop: make(chan struct{}), done: make(chan struct{})}
	go q.run()
	return q
}

// Write queues one record. It never waits and never fails.
func (q *logQueue) Write(record []byte) (int, error) {
	select {
	case q.records <- bytes.Clone(record):
	default:
		q.dropped.Add(1)
		q.total.Add(1)
	}
	return len(record), nil
}

// Dropped returns how many records there was no room for, in all.
func (q *logQueue) Dropped() int64 { return q.total.Load() }

func (q *logQueue) run() {
	defer close(q.done)
	for {
		select {
		case r := <-q.records:
			q.write(r)
		case <-q.stop:
			q.rest()
			return
		}
	}
}

// write writes one record. An error has nowhere to be reported.
func (q *logQueue) write(record []byte) {
	q.w.Write(record)
	if n := q.dropped.Swap(0); n > 0 {
		q.report(n)
	}
}

// rest writes what is queued.
func (q *logQueue) rest() {
	for {
		select {
		case r := <-q.records:
			q.write(r)
		default:
			return
		}
	}
}

// Close writes what is queued and ends the goroutine, but gives up on a reader that
// does not take it within the given time. To be called once; what is written to q
// afterwards is lost.
func (q *logQueue) Close(within time.Duration) {
	close(q.stop)
	select {
	case <-q.done:
	case <-time.After(within):
	}
}
