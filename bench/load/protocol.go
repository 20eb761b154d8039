package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

var errWrong = errors.New("load: wrong answer")

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
