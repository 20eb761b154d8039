package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/bench/stream"
)

// idleBytes is what passes through a session before it is idle, in each direction.
const idleBytes = 100

// openers is how many sessions are opened at once.
const openers = 16

// Idle are sessions with a stream server on which nothing happens.
type Idle struct {
	clients []*client
}

// OpenIdle connects n times to addr, passes 100 bytes through each session and back,
// and counts those that succeed in t. It stops early when ctx ends. The caller must
// call Close.
func OpenIdle(ctx context.Context, addr string, n int, t *Tally) *Idle {
	all := make([]*client, n)
	var next atomic.Int64
	each(min(n, openers), func(int) {
		for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
			c, err := openIdle(addr)
			if err != nil {
				t.Fail(err)
				rest(ctx)
				continue
			}
			all[i] = c
			t.Add(1)
		}
	})
	idle := &Idle{}
	for _, c := range all {
		if c != nil {
			idle.clients = append(idle.clients, c)
		}
	}
	return idle
}

func openIdle(addr string) (*client, error) {
	c, err := dial(addr, nil)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	if err = stream.StartEcho(c); err == nil {
		err = stream.Echo(c, make([]byte, idleBytes))
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Len is the number of sessions.
func (l *Idle) Len() int { return len(l.clients) }

// Close ends every session in order.
func (l *Idle) Close() {
	for _, c := range l.clients {
		_ = c.Close()
	}
	l.clients = nil
}
