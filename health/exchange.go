package health

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// ErrTooLong is the error of reads beyond what a probe is willing to read.
var ErrTooLong = errors.New("the answer is too long")

// Exchange is one conversation with the backend: it connects, under TLS if secure is not
// nil, has talk speak, and says goodbye, also after a talk that failed. The reads and
// writes of the connection that talk gets fail once ctx is done. Errors are those of Dial
// and of talk, or Failures of the named step if the handshake fails.
func (t Endpoint) Exchange(ctx context.Context, step string, secure *tls.Config, talk func(net.Conn) error) error {
	conn, err := t.Dial(ctx)
	if err != nil {
		return err
	}
	defer goodbye(ctx, conn)
	defer interruptible(ctx, conn)()
	if secure == nil {
		return talk(conn)
	}
	over := tls.Client(conn, secure)
	if err := over.Handshake(); err != nil {
		return Fail(ctx, step, err)
	}
	// Its close_notify comes before the end of stream, or strict backends complain.
	defer over.CloseWrite()
	return talk(over)
}

// Secure returns a copy of c for this endpoint: without a ServerName the host of the
// address is asked for, or localhost for a Unix socket. It returns nil for nil.
func (t Endpoint) Secure(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	host := hostOnly(t.Address)
	if t.Network == "unix" {
		host = "localhost"
	}
	c = c.Clone()
	c.ServerName = cmp.Or(c.ServerName, host)
	return c
}

// Bounded returns a connection of which at most n bytes can be read; further reads fail
// with ErrTooLong. It keeps a driver from reading, or making room for, whatever a backend
// cares to send.
func Bounded(c net.Conn, n int64) net.Conn { return &bounded{Conn: c, left: n} }

type bounded struct {
	net.Conn
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrTooLong
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
