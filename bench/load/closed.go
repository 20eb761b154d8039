package load

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"
)

// Requests is a closed loop on connections that are kept: each client sends a request
// as soon as the one before is answered.
type Requests struct {
	Addr     string
	Protocol Protocol
	// Clients is the number of connections, at least 1.
	Clients int
	// Latency, if not nil, is given how long each exchange took.
	Latency *Latency
}

// Run offers the load until ctx ends, and counts exchanges in t.
func (l Requests) Run(ctx context.Context, t *Tally) {
	each(l.Clients, func(int) {
		for ctx.Err() == nil {
			if err := l.keep(ctx, t); err != nil {
				t.Fail(err)
				rest(ctx)
			}
		}
	})
}

// keep exchanges on one connection until ctx ends or an exchange fails.
func (l Requests) keep(ctx context.Context, t *Tally) error {
	c, err := dial(l.Addr, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	for ctx.Err() == nil {
		began := time.Now()
		err := c.exchange(l.Protocol)
		if err != nil && !errors.Is(err, errLast) {
			return err
		}
		took(l.Latency, began)
		t.Add(1)
		if err != nil {
			return nil
		}
	}
	return nil
}

// Connections is a closed loop of connections: each client connects, exchanges once
// and closes, in order, again and again.
type Connections struct {
	Addr     string
	Protocol Protocol
	// Clients is how many do so at once, from 1 to 60,000.
	Clients int
	// Latency, if not nil, is given how long each took, from connecting to the answer.
	Latency *Latency
	// AnySource is true if clients are to have no addresses of their own: Addr may be on another
	// machine, or serve 127.0.0.1 alone.
	AnySource bool
}

// Run offers the load until ctx ends, and counts connections in t.
func (l Connections) Run(ctx context.Context, t *Tally) {
	each(l.Clients, func(i int) {
		source := l.source(i)
		for ctx.Err() == nil {
			if err := l.once(source); err != nil {
				t.Fail(err)
				rest(ctx)
				continue
			}
			t.Add(1)
		}
	})
}

// source is the address of the i-th client; nil = the system chooses.
func (l Connections) source(i int) net.Addr {
	if l.AnySource {
		return nil
	}
	return sourceOf(i)
}

func (l Connections) once(source net.Addr) error {
	began := time.Now()
	c, err := dial(l.Addr, source)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.exchange(l.Protocol); err != nil && !errors.Is(err, errLast) {
		return err
	}
	took(l.Latency, began)
	return nil
}

// took records the time since began, if anybody wants to know.
func took(l *Latency, began time.Time) {
	if l != nil {
		l.Record(time.Since(began))
	}
}

// sourceOf is the address of the i-th client: 127.1.0.1 and on. Only Linux has all of
// 127.0.0.0/8; elsewhere the system chooses.
func sourceOf(i int) net.Addr {
	if runtime.GOOS != "linux" {
		return nil
	}
	return &net.TCPAddr{IP: net.IPv4(127, 1, byte(i/250), byte(1+i%250))}
}

// each runs f for 0..n-1 at once and waits for all.
func each(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}
