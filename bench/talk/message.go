package talk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrWrong means that a message is not the one that belongs there.
var ErrWrong = errors.New("talk: wrong message")

// Size is the length of every message in bytes.
const Size = 64

// Common is how many bytes at the beginning of an answer are the same whichever backend
// gives it.
const Common = whoAt

// Where the fields of a message are; numbers are big-endian.
const (
	sessionAt = 4  // after the magic number
	numberAt  = 12 // 4 bytes
	whoAt     = 16 // 4 bytes
	fillingAt = 20
	sumAt     = Size - 4
)

const (
	magic   = "talk"
	filling = "sluice numbers each message; none is two." // 40 bytes are used
)

// castagnoli is CRC-32C, which finds every error of up to 32 bits in a row.
func castagnoli(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) // made once, by crc32 itself
}

// message is what a message says.
type message struct {
	session uint64
	number  uint32
	who     uint32 // 0 = nobody: a request
}

// Request appends to dst what a client sends: message number of a session, from 0.
func Request(dst []byte, session uint64, number uint32) []byte {
	return message{session, number, 0}.append(dst)
}

// Answer appends to dst what a backend answers to a request: its own index, from 0, and
// the request's numbers.
func Answer(dst []byte, session uint64, number uint32, backend int) []byte {
	return message{session, number, uint32(backend) + 1}.append(dst)
}

// ParseRequest reads a request, which must be the whole of b. Errors wrap ErrWrong.
func ParseRequest(b []byte) (session uint64, number uint32, err error) {
	m, err := parse(b)
	if err != nil {
		return 0, 0, err
	}
	if m.who != 0 {
		return 0, 0, fmt.Errorf("%w: an answer of backend %d, a request belongs here", ErrWrong, m.who-1)
	}
	return m.session, m.number, nil
}

// ParseAnswer reads the answer to a request, which must be the whole of b, and returns the
// index of the backend that gave it. Errors wrap ErrWrong.
func ParseAnswer(b []byte, session uint64, number uint32) (backend int, err error) {
	m, err := parse(b)
	if err != nil {
		return 0, err
	}
	if m.session != session || m.number != number {
		return 0, fmt.Errorf("%w: %d of session %d, %d of session %d belongs here", ErrWrong, m.number, m.session, number, session)
	}
	if m.who == 0 {
		return 0, fmt.Errorf("%w: a request, its answer belongs here", ErrWrong)
	}
	return int(m.who - 1), nil
}

func (m message) append(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, magic...)
	dst = binary.BigEndian.AppendUint64(dst, m.session)
	dst = binary.BigEndian.AppendUint32(dst, m.number)
	dst = binary.BigEndian.AppendUint32(dst, m.who)
	dst = append(dst, filling[:sumAt-fillingAt]...)
	return binary.BigEndian.AppendUint32(dst, castagnoli(dst[from:]))
}

func parse(b []byte) (message, error) {
	if len(b) != Size {
		return message{}, fmt.Errorf("%w: %d bytes, a message has %d", ErrWrong, len(b), Size)
	}
	if string(b[:sessionAt]) != magic {
		return message{}, fmt.Errorf("%w: it begins with %q, a message with %q", ErrWrong, b[:sessionAt], magic)
	}
	m := message{
		session: binary.BigEndian.Uint64(b[sessionAt:]),
		number:  binary.BigEndian.Uint32(b[numberAt:]),
		who:     binary.BigEndian.Uint32(b[whoAt:]),
	}
	if got, want := binary.BigEndian.Uint32(b[sumAt:]), castagnoli(b[:sumAt]); got != want {
		return message{}, fmt.Errorf("%w: its sum is %08x, %08x of what it holds", ErrWrong, got, want)
	}
	if string(b[fillingAt:sumAt]) != filling[:sumAt-fillingAt] {
		return message{}, fmt.Errorf("%w: another filling", ErrWrong)
	}
	return m, nil
}
