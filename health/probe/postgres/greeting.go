package postgres

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"github.com/sluicelb/sluice/health"
)

const stepGreeting = "postgres ssl request"

// sslRequest asks whether the server speaks TLS: a length of 8, and a code.
var sslRequest = []byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}

var errNoTLS = errors.New("it does not speak TLS (ssl = off)")

// greeter asks without logging in.
type greeter struct {
	endpoint health.Endpoint
	tls      *tls.Config // nil: TLS is not insisted on
}

func (g greeter) Probe(ctx context.Context) error {
	return g.endpoint.Exchange(ctx, stepGreeting, nil, func(conn net.Conn) error {
		conn = health.Bounded(conn, maxAnswer)
		offered, err := offersTLS(ctx, conn)
		switch {
		case err != nil:
			return err
		case g.tls != nil:
			return closing(startTLS(ctx, conn, offered, g.tls))
		case offered:
			// Nothing is told to this server and nothing believed, so any TLS will do.
			return closing(startTLS(ctx, conn, offered, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}))
		}
		return nil
	})
}

// closing ends TLS in order, if it began.
func closing(secure *tls.Conn, err error) error {
	if err != nil {
		return err
	}
	secure.CloseWrite() // what goes wrong with a goodbye does not matter
	return nil
}

// offersTLS sends an SSLRequest and reads its answer, one byte.
func offersTLS(ctx context.Context, conn net.Conn) (bool, error) {
	if _, err := conn.Write(sslRequest); err != nil {
		return false, health.Fail(ctx, stepGreeting, err)
	}
	r := bufio.NewReader(conn)
	answer, err := r.ReadByte()
	if err != nil {
		return false, health.Fail(ctx, stepGreeting, err)
	}
	switch {
	case answer == 'E':
		return false, refused(ctx, r)
	// The next word is the prober's. More of the server's is another protocol, such as one
	// whose banner begins with SSH-2.0, or bytes slipped in before TLS.
	case answer != 'S' && answer != 'N', r.Buffered() > 0:
		r.UnreadByte()
		return false, junk(stepGreeting, buffered(r))
	}
	return answer == 'S', nil
}

// startTLS shakes hands, or says that TLS is not offered.
func startTLS(ctx context.Context, conn net.Conn, offered bool, cfg *tls.Config) (*tls.Conn, error) {
	if !offered {
		return nil, &health.Failure{Step: stepGreeting, Err: errNoTLS, Saw: "N"}
	}
	secure := tls.Client(conn, cfg)
	if err := secure.Handshake(); err != nil {
		return nil, health.Fail(ctx, stepGreeting, err)
	}
	return secure, nil
}

// refused reads the error that begins with the E already read.
func refused(ctx context.Context, r *bufio.Reader) error {
	said, err := readRefusal(r)
	switch {
	case errors.As(err, new(notRefusal)):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &health.Failure{Step: stepGreeting, Err: errCut, Saw: "E"}
	case err != nil:
		return health.Fail(ctx, stepGreeting, err)
	}
	return said.failure(stepGreeting, Config{})
}

// readRefusal reads what follows the E of an error: a length and fields, or from a server
// that could not even fork a text that ends with 0. Errors are those of r, or a notRefusal.
func readRefusal(r *bufio.Reader) (refusal, error) {
	first, err := r.Peek(1)
	if err != nil {
		return refusal{}, err
	}
	if first[0] != 0 { // no length below maxAnswer begins so
		text, ok := bytes.CutSuffix(buffered(r), []byte{0})
		if !ok {
			return refusal{}, notRefusal{junk(stepGreeting, append([]byte("E"), text...))}
		}
		return refusal{message: string(bytes.TrimSpace(text))}, nil
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return refusal{}, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < 4 || n > maxAnswer {
		return refusal{}, notRefusal{junk(stepGreeting, append(append([]byte("E"), length[:]...), buffered(r)...))}
	}
	body := make([]byte, n-4)
	if _, err := io.ReadFull(r, body); err != nil {
		return refusal{}, err
	}
	said, ok := parseRefusal(body)
	if !ok {
		return refusal{}, notRefusal{junk(stepGreeting, append(append([]byte("E"), length[:]...), body...))}
	}
	return said, nil
}

// buffered is what has been received but not read.
func buffered(r *bufio.Reader) []byte {
	b, _ := r.Peek(r.Buffered()) // that many are there
	return b
}

// notRefusal is a Failure: what began like an error is none.
type notRefusal struct{ error }

func (e notRefusal) Unwrap() error { return e.error }
