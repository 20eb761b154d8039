package mysql

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/sluicelb/sluice/health"
)

const (
	headerBytes = 4 // of a packet: three of its length, one of its number
	// greetingBytes is more than any greeting has: some hundred bytes, or a message of at most
	// 512. The first three letters of every text are a greater length, so it tells at once.
	greetingBytes = 4 << 10
	// answerBytes bounds all that is read in one probe.
	answerBytes = 64 << 10
)

// First bytes of packets.
const (
	okByte      = 0x00
	moreByte    = 0x01
	greetByte   = 10 // the version of the protocol
	switchByte  = 0xfe
	refusalByte = 0xff
)

// Capabilities of a server, as its greeting tells them.
const (
	can41     = 1 << 9 // the protocol of MySQL 4.1
	canTLS    = 1 << 11
	canSecure = 1 << 15 // a login by challenge of 20 bytes
	canPlugin = 1 << 19
)

var (
	errNotMySQL  = errors.New("not a MySQL greeting")
	errMalformed = errors.New("malformed answer")
	errCut       = errors.New("connection closed within the answer")
)

// greeting is a server's first packet, the handshake of version 10.
type greeting struct {
	version      string // of the server
	capabilities uint32
	plugin       string // of the login it proposes; "" is the protocol's own
}

// refusal is an error packet. Before a login it has no state.
type refusal struct {
	code  uint16
	state string
	text  string
}

func (r refusal) Error() string { return fmt.Sprintf("error %d", r.code) }

// readGreeting returns a server's first packet with its header, or, with an error, what
// came of it.
func readGreeting(r *bufio.Reader) ([]byte, error) {
	header, err := r.Peek(headerBytes)
	if err != nil {
		return bytes.Clone(header), within(header, err)
	}
	if n := length(header); n == 0 || n > greetingBytes || header[3] != 0 {
		junk, _ := r.Peek(r.Buffered())
		return bytes.Clone(junk), errNotMySQL
	}
	return readPacket(r)
}

// readPacket returns the next packet with its header, or, with an error, what came of it.
// A packet of 16 MB, the first part of a longer one, is too long like others.
func readPacket(r *bufio.Reader) ([]byte, error) {
	packet := make([]byte, headerBytes)
	n, err := io.ReadFull(r, packet)
	if err != nil {
		return packet[:n], within(packet[:n], err)
	}
	size := length(packet)
	if size > answerBytes {
		return packet, health.ErrTooLong
	}
	packet = append(packet, make([]byte, size)...)
	n, err = io.ReadFull(r, packet[headerBytes:])
	packet = packet[:headerBytes+n]
	return packet, within(packet, err)
}

func length(header []byte) int {
	return int(header[0]) | int(header[1])<<8 | int(header[2])<<16
}

// within tells an end inside an answer from one without an answer.
func within(answer []byte, err error) error {
	if len(answer) > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return errCut
	}
	return err
}

// parseGreeting reads a whole handshake of version 10, or fails with a refusal or with
// errNotMySQL. What passes is safe for the driver, which reads at fixed offsets.
func parseGreeting(packet []byte) (greeting, error) {
	if len(packet) == 0 {
		return greeting{}, errNotMySQL
	}
	if packet[0] == refusalByte {
		r, err := parseRefusal(packet)
		if err != nil {
			return greeting{}, errNotMySQL
		}
		return greeting{}, r
	}
	end := bytes.IndexByte(packet, 0)
	if packet[0] != greetByte || end < 0 || !isVersion(packet[1:end]) {
		return greeting{}, errNotMySQL
	}
	g := greeting{version: string(packet[1:end])}
	return g, g.parseRest(packet[end+1:])
}

// parseRest reads what follows the version. Fields, with their bytes: connection 4,
// challenge 8, zero 1, capabilities 2, charset 1, status 2, more capabilities 2, length of
// the challenge 1, reserved 10, rest of the challenge with a zero 13, plugin to its zero.
func (g *greeting) parseRest(b []byte) error {
	const zero, low, high, challenge = 12, 13, 18, 31
	if len(b) < challenge+13 || b[zero] != 0 {
		return errNotMySQL
	}
	g.capabilities = uint32(binary.LittleEndian.Uint16(b[low:])) | uint32(binary.LittleEndian.Uint16(b[high:]))<<16
	if g.capabilities&can41 == 0 || g.capabilities&canSecure == 0 {
		return errNotMySQL
	}
	if g.capabilities&canPlugin != 0 {
		name, _, _ := bytes.Cut(b[challenge+13:], []byte{0}) // some old ones lack the zero
		g.plugin = string(name)
	}
	return nil
}

// isVersion tells whether b begins like a version and can be shown.
func isVersion(b []byte) bool {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	return len(b) > 0 && '0' <= b[0] && b[0] <= '9' && !bytes.ContainsFunc(b, odd)
}

// parseRefusal reads an error packet. Its error is errMalformed.
func parseRefusal(packet []byte) (refusal, error) {
	const stated = 3 + len("#HY000")
	if len(packet) < 4 || packet[0] != refusalByte || packet[3] == '#' && len(packet) < stated {
		return refusal{}, errMalformed
	}
	r := refusal{code: binary.LittleEndian.Uint16(packet[1:])}
	if packet[3] == '#' {
		r.state, packet = string(packet[4:stated]), packet[stated-3:]
	}
	r.text = string(packet[3:])
	return r, nil
}
