package mysql

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"time"

	"github.com/sluicelb/sluice/health"
)

// wire is the connection as the driver sees it: reads give one whole packet after another,
// beginning with a greeting that was read before, and nothing the driver does ends it or
// moves its deadline, which are the probe's.
type wire struct {
	net.Conn          // in plain text, or TLS over it
	raw      net.Conn // below all that
	r        *bufio.Reader
	secure   *tls.Config // for when the driver logs in; nil for plain text
	over     *tls.Conn   // once that has begun
	// shift is how far the driver's numbers of packets are behind. It does not know of the
	// one that asked for TLS.
	shift    byte
	loggedIn bool

	answer []byte // the payload of the last packet, or what came of it
	unread []byte // of it and its header, what the driver has not taken
	number byte   // of the last packet
	plugin string // that the server wants for the login
	unsent error  // of the last write
	failed error  // why there is no further packet; nil while there is
}

// newWire wraps a connection that nothing was read from.
func newWire(c net.Conn, secure *tls.Config) *wire {
	few := health.Bounded(c, answerBytes)
	return &wire{Conn: few, raw: c, r: bufio.NewReader(few), secure: secure}
}

// greet reads and judges the greeting, and has the driver read it again.
func (w *wire) greet() error {
	packet, err := readGreeting(w.r)
	w.answer, w.failed = packet, err
	if err != nil {
		return err
	}
	w.answer, w.unread = packet[headerBytes:], packet
	g, err := parseGreeting(w.answer)
	if err == nil && w.secure != nil && g.capabilities&canTLS == 0 {
		return errNoTLS
	}
	w.plugin = g.plugin
	return err
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.unread) == 0 && w.failed == nil {
		w.failed = w.next()
	}
	if w.failed != nil {
		if len(w.answer) == 0 && w.unsent != nil {
			w.failed = w.unsent
		}
		return 0, w.failed
	}
	n := copy(p, w.unread)
	w.unread = w.unread[n:]
	return n, nil
}

// next reads a packet for the driver.
func (w *wire) next() error {
	packet, err := readPacket(w.r)
	w.answer = packet
	if err != nil {
		return err
	}
	w.answer, w.number = packet[headerBytes:], packet[3]
	w.unread = packet
	packet[3] -= w.shift
	if w.loggedIn {
		return nil
	}
	return w.check(w.answer)
}

// check refuses packets of the login that the driver could not read.
func (w *wire) check(packet []byte) error {
	if len(packet) == 0 {
		return errMalformed
	}
	switch packet[0] {
	case okByte:
		return checkOK(packet)
	case refusalByte:
		_, err := parseRefusal(packet)
		return err
	case moreByte:
		return checkMore(packet[1:])
	case switchByte:
		return w.checkSwitch(packet[1:])
	}
	return errMalformed
}

// checkOK wants two numbers of a length of their own, and two bytes of status.
func checkOK(packet []byte) error {
	rest := packet[1:]
	for range 2 {
		if len(rest) == 0 {
			return errMalformed
		}
		size := map[byte]int{0xfc: 3, 0xfd: 4, 0xfe: 9}[rest[0]]
		rest = rest[min(max(size, 1), len(rest)):]
	}
	if len(rest) < 2 {
		return errMalformed
	}
	return nil
}

// checkMore wants a sign of one byte, or the server's key, which has to be of the kind
// that the driver takes it for.
func checkMore(data []byte) error {
	if len(data) < 2 {
		return nil
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return errMalformed
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if _, ok := key.(*rsa.PublicKey); err != nil || !ok {
		return errMalformed
	}
	return nil
}

// checkSwitch wants the name of a plugin, and for the usual one a challenge of 20 bytes.
// The empty request is that of servers before 5.5, whose plugin had no name.
func (w *wire) checkSwitch(data []byte) error {
	if len(data) == 0 {
		w.plugin = "mysql_old_password"
		return nil
	}
	name, challenge, ok := bytes.Cut(data, []byte{0})
	if !ok || len(name) == 0 {
		return errMalformed
	}
	w.plugin = string(name)
	if w.plugin == "mysql_native_password" && len(bytes.TrimSuffix(challenge, []byte{0})) < 20 {
		return errMalformed
	}
	return nil
}

// Write takes one packet, as the driver writes them, and succeeds unless TLS fails. A
// server that turns a client away has answered before it is asked, and closed, which makes
// the question fail: the answer says more.
func (w *wire) Write(p []byte) (int, error) {
	if w.secure != nil && w.over == nil {
		if w.failed = w.startTLS(p); w.failed != nil {
			return 0, w.failed
		}
		p = bytes.Clone(p)
		p[5] |= canTLS >> 8
	}
	if w.shift != 0 {
		p = bytes.Clone(p)
		p[3] += w.shift
	}
	_, w.unsent = w.Conn.Write(p)
	return len(p), nil
}

// startTLS asks for TLS with the first 32 bytes of the login, as the protocol has it, and
// makes it the way for all that follows.
func (w *wire) startTLS(login []byte) error {
	const head = headerBytes + 32
	if len(login) < head {
		return errMalformed
	}
	if w.r.Buffered() > 0 {
		return errEarly
	}
	ask := bytes.Clone(login[:head])
	ask[0], ask[1], ask[2] = 32, 0, 0
	ask[5] |= canTLS >> 8
	if _, err := w.Conn.Write(ask); err != nil {
		return tlsError{err}
	}
	w.over = tls.Client(w.Conn, w.secure)
	if err := w.over.Handshake(); err != nil {
		return tlsError{err}
	}
	w.Conn, w.shift = w.over, 1
	w.r.Reset(w.over)
	return nil
}

// begin ends the login: packets are numbered from 0 with every command.
func (w *wire) begin() { w.loggedIn, w.shift = true, 0 }

// yield lets the server refuse a login that cannot go on: with nothing instead of an
// answer. To give up instead would count as a handshake error of this host.
func (w *wire) yield() {
	w.Conn.Write([]byte{0, 0, 0, w.number + 1})
	readPacket(w.r)
}

// end says goodbye on the TLS layer, if there is one.
func (w *wire) end() {
	if w.over != nil {
		w.over.CloseWrite()
	}
}

func (w *wire) Close() error                     { return nil }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// tlsError is an error of the TLS handshake.
type tlsError struct{ err error }

func (e tlsError) Error() string { return e.err.Error() }
func (e tlsError) Unwrap() error { return e.err }

var (
	errNoTLS = errors.New("the server offers no TLS: it has no certificate, or it is turned off")
	errEarly = errors.New("unencrypted bytes where TLS should begin")
)

// lateRefusal waits a moment for a refusal after the greeting, with our end of stream said.
// It is nil if the server says nothing more, or not in time.
func (w *wire) lateRefusal(ctx context.Context) error {
	half, ok := w.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return nil
	}
	end := time.Now().Add(lateTime)
	if limit, ok := ctx.Deadline(); ok && limit.Before(end) {
		end = limit
	}
	w.raw.SetReadDeadline(end)
	packet, err := readPacket(w.r)
	if err != nil {
		return nil
	}
	r, err := parseRefusal(packet[headerBytes:])
	if err != nil {
		return nil
	}
	w.answer = packet[headerBytes:]
	return r
}
