//go:build linux

package parts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Dial connects to addr. The connection has a deadline of Patience over all its operations and closes with the test.
func Dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	return DialFrom(t, "", addr)
}

// DialFrom is Dial from a source address; any if it is empty.
func DialFrom(t testing.TB, source, addr string) *net.TCPConn {
	t.Helper()
	c, err := TryDial(source, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TryDial is DialFrom for goroutines: the caller handles the error and closes.
func TryDial(source, addr string) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: Patience}
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(Patience))
	return c.(*net.TCPConn), nil
}

// Write writes all of data or fails the test.
func Write(t testing.TB, c net.Conn, data string) {
	t.Helper()
	if _, err := io.WriteString(c, data); err != nil {
		t.Fatalf("write to %v: %v", c.RemoteAddr(), err)
	}
}

// Expect reads exactly want or fails the test.
func Expect(t testing.TB, c io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if err != nil || string(got) != want {
		t.Fatalf("read %d bytes %s (%v), want %d bytes %s", n, short(string(got[:n])), err, len(want), short(want))
	}
}

// short is text for a message.
func short(text string) string {
	if len(text) > 100 {
		return fmt.Sprintf("%q...", text[:100])
	}
	return fmt.Sprintf("%q", text)
}

// Echoes writes text and expects it back.
func Echoes(t testing.TB, c net.Conn, text string) {
	t.Helper()
	Write(t, c, text)
	Expect(t, c, text)
}

// Roundtrip writes text and reads it back; for goroutines and for connections that may fail.
func Roundtrip(c net.Conn, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("got %s back for %s", short(string(got)), short(text))
	}
	return nil
}

// End is how a connection ended.
type End string

// The ways a connection ends, or does not.
const (
	EndFIN   End = "end of stream"
	EndReset End = "reset"
	EndOpen  End = "still open"
)

// EndOf reads from c until it ends, at most within, and tells how it ended and how many bytes came before.
func EndOf(t testing.TB, c net.Conn, within time.Duration) (End, int64) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(within))
	n, err := io.Copy(io.Discard, onlyReader{c})
	switch {
	case err == nil:
		return EndFIN, n
	case errors.Is(err, syscall.ECONNRESET):
		return EndReset, n
	case errors.Is(err, os.ErrDeadlineExceeded):
		return EndOpen, n
	}
	t.Errorf("read from %v: %v", c.RemoteAddr(), err)
	return End(err.Error()), n
}

// onlyReader hides the other methods of a connection, so that a test reads as an ordinary client does.
type onlyReader struct{ io.Reader }

// Ends fails the test unless c ends in one of the two ways within the time.
func Ends(t testing.TB, c net.Conn, within time.Duration) End {
	t.Helper()
	end, _ := EndOf(t, c, within)
	if end == EndOpen {
		t.Errorf("connection %v -> %v is still open after %v", c.LocalAddr(), c.RemoteAddr(), within)
	}
	return end
}

// Refused fails the test unless a client from source (any if empty) is turned away within the time without a byte.
// The reset may come so early that the connect already reports it.
func Refused(t testing.TB, source, addr string, within time.Duration) {
	t.Helper()
	c, err := TryDial(source, addr)
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if end, n := EndOf(t, c, within); end == EndOpen || n > 0 {
		t.Errorf("client %v: %v after %d bytes, want a refusal", c.LocalAddr(), end, n)
	}
}

// Who connects from source to addr and returns the name a Greet backend sends; it closes the connection.
func Who(source, addr string) (string, error) {
	c, err := TryDial(source, addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return Name(c)
}

// Name reads the line a Greet backend sends first.
func Name(c net.Conn) (string, error) {
	line, err := bufio.NewReaderSize(c, 16).ReadString('\n')
	return strings.TrimSpace(line), err
}

// HTTPGet makes one HTTP request on a new connection from source and returns the body and the client's own address.
func HTTPGet(source, addr string) (body, local string, err error) {
	c, err := TryDial(source, addr)
	if err != nil {
		return "", "", err
	}
	defer c.Close()
	local = c.LocalAddr().String()
	body, err = HTTPExchange(c)
	return body, local, err
}

// HTTPExchange makes one HTTP/1.0 request on c and returns the body of a whole answer with status 200.
func HTTPExchange(c net.Conn) (string, error) {
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\nHost: e2e\r\n\r\n"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		return "", err
	}
	head, body, ok := strings.Cut(string(answer), "\r\n\r\n")
	if !ok || !strings.Contains(strings.SplitN(head, "\r\n", 2)[0], " 200 ") {
		return "", fmt.Errorf("not a whole answer: %q", answer)
	}
	return body, nil
}
