package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

var errWrong = errors.New("load: wrong answer")

// errLast comes with a right answer after which the server ends the connection, as it
// has said.
var errLast = errors.New("load: the last answer of a connection")

// Protocol is one request and the answer it must get.
type Protocol struct {
	// Name is for people.
	Name string
	// Request is sent as it is.
	Request []byte
	// Answer reads the whole answer and checks it.
	Answer func(*bufio.Reader) error
}

// Redis asks a redis server whether it is there: PING.
func Redis() Protocol {
	answer := []byte("+PONG\r\n")
	return Protocol{
		Name:    "redis PING",
		Request: []byte("*1\r\n$4\r\nPING\r\n"),
		Answer: func(r *bufio.Reader) error {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return err
			}
			if !bytes.Equal(line, answer) {
				return fmt.Errorf("%w: %q to PING", errWrong, line)
			}
			return nil
		},
	}
}

// HTTP asks for path, and expects status 200 and body. The connection stays open
// unless the server closes it.
func HTTP(path string, body []byte) Protocol {
	return Protocol{
		Name:    "HTTP GET",
		Request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\n\r\n", path),
		Answer: func(r *bufio.Reader) error {
			if err := readHead(r, len(body)); err != nil {
				return err
			}
			got := make([]byte, len(body))
			if _, err := io.ReadFull(r, got); err != nil {
				return err
			}
			if !bytes.Equal(got, body) {
				return fmt.Errorf("%w: another body", errWrong)
			}
			return nil
		},
	}
}

// Page asks host for path and expects any status from 200 to 399, with a whole body.
// host is what the request names; a port of it stays. A connection that the server
// announces to close is followed by another. It is not for Open, which would have sent
// more on it by then.
func Page(host, path string) Protocol {
	return Protocol{
		Name:    "HTTP GET " + path,
		Request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: l4bench\r\n\r\n", path, host),
		Answer: func(r *bufio.Reader) error {
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				return notHTTP(err)
			}
			defer answer.Body.Close()
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				return err
			}
			if answer.StatusCode < 200 || answer.StatusCode > 399 {
				return fmt.Errorf("%w: status %s", errWrong, answer.Status)
			}
			if answer.Close {
				return errLast
			}
			return nil
		},
	}
}

// notHTTP tells an answer that is no HTTP from one that did not come: net/http has no
// type for what it cannot read.
func notHTTP(err error) error {
	var failed net.Error
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &failed) {
		return err
	}
	return fmt.Errorf("%w: %w", errWrong, err)
}

// Connect exchanges nothing: to be connected is enough. A balancer accepts before it has
// a backend, so that says little of those.
func Connect() Protocol {
	return Protocol{Name: "connect", Answer: func(*bufio.Reader) error { return nil }}
}

// Echo sends 64 bytes and expects them back.
func Echo() Protocol {
	request := []byte("l4bench sends these sixty-four bytes, and wants them back as is\n")
	return Protocol{
		Name:    "echo",
		Request: request,
		Answer: func(r *bufio.Reader) error {
			var got [64]byte
			if _, err := io.ReadFull(r, got[:]); err != nil {
				return err
			}
			if !bytes.Equal(got[:], request) {
				return fmt.Errorf("%w: other bytes than were sent", errWrong)
			}
			return nil
		},
	}
}

// readHead reads a response's head and checks its status and length.
func readHead(r *bufio.Reader, length int) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return fmt.Errorf("%w: %q", errWrong, line)
	}
	got := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if len(name) == 0 {
			break
		}
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if got, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return fmt.Errorf("%w: length %q", errWrong, value)
			}
		}
	}
	if got != length {
		return fmt.Errorf("%w: a body of %d bytes, not %d", errWrong, got, length)
	}
	return nil
}
