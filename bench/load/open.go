package load

import (
	"context"
	"net"
	"sync"
	"time"
)

// Open is an open loop: requests at a fixed rate, whether or not earlier ones have been
// answered, on connections that are kept.
type Open struct {
	Addr     string
	Protocol Protocol
	// Connections is how many the requests are spread over in turn, at least 1.
	Connections int
	// Rate is in requests a second, more than 0.
	Rate float64
	// Dial makes a connection; nil = TCP to Addr.
	Dial func() (net.Conn, error)
	// Pause waits for about the time it is given; nil = time.Sleep. Sleep is finer.
	Pause func(time.Duration)
}

// Run offers the load until ctx ends and every answer is in, counts exchanges in t, and
// records in l how long after the instant at which it was due each was answered, and in
// late, if not nil, how long after it each was sent.
func (o Open) Run(ctx context.Context, t *Tally, l, late *Latency) {
	if o.Pause == nil {
		o.Pause = time.Sleep
	}
	if o.Dial == nil {
		o.Dial = func() (net.Conn, error) { return net.DialTimeout("tcp", o.Addr, patience) }
	}
	lanes := make([]*lane, o.Connections)
	var readers sync.WaitGroup
	for i := range lanes {
		lanes[i] = &lane{dial: o.Dial, protocol: o.Protocol, tally: t, latency: l, due: make(chan request, maxDue)}
	}
	each(len(lanes), func(i int) { lanes[i].connect() })
	for _, n := range lanes {
		readers.Go(func() { n.read(ctx) })
	}
	o.send(ctx, lanes, late)
	for _, n := range lanes {
		close(n.due)
	}
	readers.Wait()
}

// send hands each request to its lane when it is due.
func (o Open) send(ctx context.Context, lanes []*lane, late *Latency) {
	start := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		due := start.Add(time.Duration(float64(i) / o.Rate * float64(time.Second)))
		for wait := time.Until(due); wait > 0 && ctx.Err() == nil; wait = time.Until(due) {
			o.Pause(min(wait, maxPause))
		}
		if ctx.Err() != nil {
			return
		}
		if late != nil {
			late.Record(time.Since(due))
		}
		lanes[i%len(lanes)].send(due)
	}
}

// maxPause lets a slow load end with its context.
const maxPause = 50 * time.Millisecond

// maxDue is how many requests of one lane may wait for an answer. At more than this
// the next are not sent but counted as timeouts.
const maxDue = 1 << 14
