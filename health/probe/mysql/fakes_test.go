package mysql

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
)

// fake is a server of the test's own.
type fake struct {
	endpoint health.Endpoint
	ends     chan error // how each connection ended

	mu   sync.Mutex
	told []string // payloads of the packets that came
}

// serve runs f for every connection to a loopback port. A connection has a deadline, and
// is closed when f returns.
func serve(t *testing.T, f func(s *fake, c net.Conn) error) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fake{ends: make(chan error, 1000)}
	s.endpoint = health.Endpoint{Network: "tcp", Address: ln.Addr().String()}
	s.run(t, ln, f)
	return s
}

func (s *fake) run(t *testing.T, ln net.Listener, f func(s *fake, c net.Conn) error) {
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(10 * time.Second))
				s.ends <- f(s, c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		conns.Wait()
	})
}

// hear reads one packet, and notes it.
func (s *fake) hear(r *bufio.Reader) error {
	packet, err := readPacket(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, string(packet[headerBytes:]))
	return nil
}

func (s *fake) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

// end returns how the next connection ended.
func (s *fake) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ends:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the connection does not end")
		return nil
	}
}

// says sends the first text at once and every other one after a packet, and reads on to
// the end of stream, noting packets: a reset is an error.
func says(texts ...string) func(*fake, net.Conn) error {
	return func(s *fake, c net.Conn) error { return s.converse(c, texts) }
}

func (s *fake) converse(c io.ReadWriter, texts []string) error {
	r := bufio.NewReader(c)
	for i, text := range texts {
		if i > 0 {
			if err := s.hear(r); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
	}
	for {
		if err := s.hear(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// closing is says, and then the server's end of stream comes first.
func closing(texts ...string) func(*fake, net.Conn) error {
	return func(s *fake, c net.Conn) error {
		r := bufio.NewReader(c)
		for i, text := range texts {
			if i > 0 {
				if err := s.hear(r); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(c, text); err != nil {
				return err
			}
		}
		c.(*net.TCPConn).CloseWrite()
		_, err := io.Copy(io.Discard, r)
		return err
	}
}

// packet frames a payload.
func packet(number byte, payload string) string {
	n := len(payload)
	return string([]byte{byte(n), byte(n >> 8), byte(n >> 16), number}) + payload
}

const challenge = "12345678" + "\x00"

// greets is a greeting's payload, with all that comes after the version but the plugin.
func greets(version, plugin string, more uint16) string {
	low, high := uint16(can41|canSecure)|more, uint16(canPlugin>>16)
	return "\x0a" + version + "\x00" + "\x01\x00\x00\x00" + challenge +
		string([]byte{byte(low), byte(low >> 8), 45, 2, 0, byte(high), byte(high >> 8), 21}) +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "abcdefghijkl\x00" + plugin + "\x00"
}

// refuses is a refusal's payload.
func refuses(code uint16, text string) string {
	return string([]byte{refusalByte, byte(code), byte(code >> 8)}) + text
}

const okay = "\x00\x00\x00\x02\x00\x00\x00"

var (
	hello   = packet(0, greets("8.4.2", "mysql_native_password", 0))
	welcome = packet(2, okay)
	pong    = packet(1, okay)
)

// table is the answer to the role query.
func table(rows ...[2]string) string {
	column := func(name string) string {
		return "\x03def\x00\x00\x00" + lenenc(name) + lenenc(name) + "\x0c\x2d\x00\x00\x04\x00\x00\xfd\x01\x00\x00\x00\x00"
	}
	payloads := []string{"\x02", column("Variable_name"), column("Value"), "\xfe\x00\x00\x02\x00"}
	for _, row := range rows {
		payloads = append(payloads, lenenc(row[0])+lenenc(row[1]))
	}
	var all string
	for i, payload := range append(payloads, "\xfe\x00\x00\x02\x00") {
		all += packet(byte(i+1), payload)
	}
	return all
}

func lenenc(s string) string { return string([]byte{byte(len(s))}) + s }

func newProber(t *testing.T, e health.Endpoint, c Config) health.Prober {
	t.Helper()
	p, err := New(e, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.(io.Closer).Close() })
	return p
}

func probe(p health.Prober, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return p.Probe(ctx)
}

const patience = 10 * time.Second

// wantFailure compares an error's text, and what it says it saw.
func wantFailure(t *testing.T, err error, reason, saw string) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Errorf("probe says %q, want a pass", err)
		}
		return
	}
	var f *health.Failure
	switch {
	case err == nil || err.Error() != reason:
		t.Errorf("probe says\n%v, want\n%s", err, reason)
	case !errors.As(err, &f):
		t.Errorf("%v is no Failure", err)
	case f.Saw != saw:
		t.Errorf("saw %q, want %q", f.Saw, saw)
	}
}
