package load

import (
	"context"
	"net"
	"sync"
	"time"
)

// lane is one connection of an open loop. The sender writes on it, the reader
// replaces it after a failure. Each request ends as one success or one failure.
type lane struct {
	dial     func() (net.Conn, error)
	protocol Protocol
	tally    *Tally
	latency  *Latency
	due      chan request // sent, oldest first

	mu  sync.Mutex
	c   *client // nil: broken
	why error   // what broke the last one
}

// request is one that was sent.
type request struct {
	due time.Time
	c   *client // on which it went; nil: none was there
}

// connect makes the lane's connection.
func (n *lane) connect() {
	c, err := n.dial()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.why = err
		return
	}
	n.c = newClient(c)
}

// current returns the connection, or nil and why there is none.
func (n *lane) current() (*client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.c, n.why
}

// send writes one request. A write that fails is the reader's to notice.
func (n *lane) send(due time.Time) {
	c, _ := n.current()
	if c != nil {
		_ = c.SetWriteDeadline(due.Add(patience))
		_, _ = c.Write(n.protocol.Request)
	}
	select {
	case n.due <- request{due, c}:
	default:
		n.tally.Fail(context.DeadlineExceeded)
	}
}

// read awaits the answers until there are no more requests, and closes the connection.
func (n *lane) read(ctx context.Context) {
	defer n.drop(nil)
	for q := range n.due {
		c, why := n.current()
		switch {
		case c == nil:
			n.connect() // for the next request; this one was not sent
			_, why = n.current()
			n.tally.Fail(why)
			rest(ctx)
		case q.c != c: // it went on, or waited for, one that is broken
			n.tally.Fail(why)
		default:
			n.answer(q)
		}
	}
}

// answer awaits one answer.
func (n *lane) answer(q request) {
	_ = q.c.SetReadDeadline(q.due.Add(patience))
	if err := n.protocol.Answer(q.c.r); err != nil {
		n.tally.Fail(err)
		n.drop(err)
		return
	}
	n.latency.Record(time.Since(q.due))
	n.tally.Add(1)
}

// drop closes the connection, because of why.
func (n *lane) drop(why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c != nil {
		_ = n.c.Close()
		n.c, n.why = nil, why
	}
}
