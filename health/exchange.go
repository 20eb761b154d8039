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
	return Converse(ctx, conn, func() (keep bool, err error) {
		if secure == nil {
			return false, talk(conn)
		}
		over := tls.Client(conn, secure)
		if err := over.Handshake(); err != nil {
			return false, Fail(ctx, step, err)
		}
		// Its close_notify comes before the end of stream, or strict backends complain.
		defer over.CloseWrite()
		return false, talk(over)
	})
}

// Converse has talk speak over conn, which [Endpoint.Dial] made: reads and writes of conn
// fail once ctx is done, with [os.ErrDeadlineExceeded]. Then it says goodbye, unless talk
// wants to keep conn for a later Converse.
func Converse(ctx context.Context, conn net.Conn, talk func() (keep bool, err error)) error {
	keep := false
	defer func() {
		if !keep {
			goodbye(ctx, conn)
		}
	}()
	defer interruptible(ctx, conn)()
	var err error
	keep, err = talk()
	return err
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
