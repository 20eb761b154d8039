package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sluicelb/sluice/health"
)

const stepGreeting = "postgres ssl request"

// sslRequest asks whether the server speaks TLS: a length of 8, and a code.
var sslRequest = []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}

// maxError bounds what is read of an error, in bytes.
const maxError = 512

// greeter asks without logging in.
type greeter struct {
	endpoint health.Endpoint
	tls      *tls.Config // nil: TLS is not insisted on
}

func (g greeter) Probe(ctx context.Context) error {
	return g.endpoint.Exchange(ctx, stepGreeting, nil, func(conn net.Conn) error {
		if _, err := conn.Write(sslRequest); err != nil {
			return health.Fail(ctx, stepGreeting, err)
		}
		var answer [1]byte
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return health.Fail(ctx, stepGreeting, err)
		}
		switch answer[0] {
		case 'S':
			return g.handshake(ctx, conn)
		case 'N':
			if g.tls != nil {
				return &health.Failure{Step: stepGreeting, Err: errors.New("it does not speak TLS (ssl = off)"), Saw: "N"}
			}
			return nil
		}
		return refused(conn, answer[0])
	})
}

// handshake does what was offered: a server logs a client that does not as an error. The
// certificate is looked at only if TLS is insisted on.
func (g greeter) handshake(ctx context.Context, conn net.Conn) error {
	cfg := g.tls
	if cfg == nil {
		cfg = &tls.Config{InsecureSkipVerify: true}
	}
	secure := tls.Client(conn, cfg)
	if err := secure.Handshake(); err != nil {
		return health.Fail(ctx, stepGreeting, err)
	}
	secure.CloseWrite()
	return nil
}

// refused reads what came instead of an answer.
func refused(conn net.Conn, first byte) error {
	text := make([]byte, maxError)
	text[0] = first
	n := 1
	for n < len(text) {
		m, err := conn.Read(text[n:])
		n += m
		if err != nil || text[n-1] == 0 || text[n-1] == '\n' {
			break
		}
	}
	what := "not an answer of PostgreSQL"
	if first == 'E' {
		what = "answered an error"
	}
	return &health.Failure{Step: stepGreeting, Err: fmt.Errorf("%s: %.60q", what, text[:n]), Saw: string(text[:n])}
}
