//go:build linux

package parts

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Redis is a running redis-server without persistence.
type Redis struct {
	*Process
	Addr string
}

// StartRedis starts a redis-server on a free port.
func StartRedis(t testing.TB) *Redis {
	t.Helper()
	addr := FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(Find(t, "redis-server", "redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--daemonize", "no", "--dir", TempDir(t))
	r := &Redis{Process: startProcess(t, "redis", cmd), Addr: addr}
	awaitListening(t, r.Process, addr)
	return r
}

// RESP is a client of the Redis protocol, enough for commands, pipelines and pushes.
type RESP struct {
	net.Conn
	r *bufio.Reader
	w *bufio.Writer
}

// RESPError is an error reply.
type RESPError string

func (e RESPError) Error() string { return string(e) }

// DialRESP connects to addr with a deadline of one minute over everything the client does.
func DialRESP(t testing.TB, addr string) *RESP {
	t.Helper()
	c := Dial(t, addr)
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &RESP{Conn: c, r: bufio.NewReaderSize(c, 64<<10), w: bufio.NewWriterSize(c, 64<<10)}
}

// Send buffers one command; Flush sends what is buffered.
func (c *RESP) Send(args ...string) error {
	fmt.Fprintf(c.w, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(c.w, "$%d\r\n%s\r\n", len(a), a)
	}
	return nil
}

// Flush sends the buffered commands.
func (c *RESP) Flush() error { return c.w.Flush() }

// Do sends one command and returns its reply: a string, an int64, nil, or a []any of these.
func (c *RESP) Do(args ...string) (any, error) {
	if err := c.Send(args...); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return c.Receive()
}

// Receive reads one reply.
func (c *RESP) Receive() (any, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, fmt.Errorf("empty reply line")
	}
	switch line[0] {
	case '+':
		return line[1:], nil
	case '-':
		return nil, RESPError(line[1:])
	case ':':
		return strconv.ParseInt(line[1:], 10, 64)
	case '$':
		return c.bulk(line[1:])
	case '*':
		return c.array(line[1:])
	}
	return nil, fmt.Errorf("unknown reply %q", line)
}

func (c *RESP) bulk(size string) (any, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return nil, err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.r, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

func (c *RESP) array(size string) (any, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 {
		return nil, err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = c.Receive(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
