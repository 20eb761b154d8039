package mysql

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sluicelb/sluice/health"
)

const (
	stepGreeting = "mysql greeting"
	headerBytes  = 4   // of a packet: three of its length, little-endian, and one that counts packets
	maxGreeting  = 512 // bytes of a greeting, which has some 80 to 120
	protocol10   = 10
	errorPacket  = 0xff
)

var errGreeting = errors.New("not a greeting of MySQL")

// greeter reads the greeting.
type greeter struct{ endpoint health.Endpoint }

func (g greeter) Probe(ctx context.Context) error {
	return g.endpoint.Exchange(ctx, stepGreeting, nil, func(conn net.Conn) error {
		payload, err := readGreeting(conn)
		switch {
		case errors.Is(err, errGreeting):
			return &health.Failure{Step: stepGreeting, Err: err, Saw: string(payload)}
		case err != nil:
			return health.Fail(ctx, stepGreeting, err)
		}
		return judgeGreeting(payload)
	})
}

// readGreeting reads the first packet to its end. An error wraps errGreeting if it is the
// packet's; what came of it is returned too.
func readGreeting(r io.Reader) ([]byte, error) {
	header := make([]byte, headerBytes)
	if n, err := io.ReadFull(r, header); err != nil {
		return header[:n], err
	}
	length := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
	if length == 0 || length > maxGreeting || header[3] != 0 {
		return header, fmt.Errorf("%w: it begins with %q", errGreeting, header)
	}
	payload := make([]byte, length)
	n, err := io.ReadFull(r, payload)
	return payload[:n], err
}

// judgeGreeting tells a greeting from an error in its place.
func judgeGreeting(payload []byte) error {
	switch payload[0] {
	case errorPacket:
		if len(payload) < 3 {
			return &health.Failure{Step: stepGreeting, Err: fmt.Errorf("%w: an error without a number", errGreeting), Saw: string(payload)}
		}
		message := payload[3:]
		if len(message) > 6 && message[0] == '#' {
			message = message[6:] // an SQLSTATE
		}
		return serverError(stepGreeting, binary.LittleEndian.Uint16(payload[1:]), string(message))
	case protocol10:
		// The version, ended by a zero, then at least a thread, eight bytes of salt and a zero.
		if i := bytes.IndexByte(payload[1:], 0); i >= 0 && len(payload) >= 1+i+1+4+8+1 {
			return nil
		}
	}
	return &health.Failure{Step: stepGreeting, Err: fmt.Errorf("%w: %.40q", errGreeting, payload), Saw: string(payload)}
}
