package load

import (
	"bufio"
	"context"
	"net"
	"time"
)

// patience bounds a connect, and an exchange.
const patience = 5 * time.Second

// pauseAfterFailure keeps clients of something broken from spinning.
const pauseAfterFailure = 20 * time.Millisecond

// client is a connection that exchanges.
type client struct {
	net.Conn
	r *bufio.Reader
}

// dial connects to addr, from an address of source's if that is not nil.
func dial(addr string, source net.Addr) (*client, error) {
	d := net.Dialer{Timeout: patience, LocalAddr: source, KeepAlive: -1}
	if source != nil {
		d.Control = latePort
	}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return newClient(c), nil
}

func newClient(c net.Conn) *client { return &client{Conn: c, r: bufio.NewReaderSize(c, 2<<10)} }

// exchange sends one request and checks its answer.
func (c *client) exchange(p Protocol) error {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return c.say(p)
}

// say is an exchange without a deadline of its own.
func (c *client) say(p Protocol) error {
	if len(p.Request) > 0 {
		if _, err := c.Write(p.Request); err != nil {
			return err
		}
	}
	return p.Answer(c.r)
}

// rest waits after a failure, unless ctx ends before.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pauseAfterFailure):
	}
}
