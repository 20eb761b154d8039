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
	args []string
	tls  bool
}

// StartRedis starts a redis-server on a free port, with more arguments if need be.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	r := &Redis{Addr: FreeAddr(t), args: append([]string{"--dir", TempDir(t)}, args...)}
	r.Start(t)
	return r
}

// StartRedisTLS starts one that speaks TLS alone.
func StartRedisTLS(t testing.TB, c Certificate) *Redis {
	t.Helper()
	r := &Redis{Addr: FreeAddr(t), tls: true, args: []string{"--dir", TempDir(t), "--tls-cert-file", c.CertFile,
		"--tls-key-file", c.KeyFile, "--tls-auth-clients", "no"}}
	r.Start(t)
	return r
}

// Start starts the server; again, after Kill.
func (r *Redis) Start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(r.Addr)
	args := []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no",
		"--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"}
	if r.tls {
		args = append(args, "--port", "0", "--tls-port", port)
	}
	r.Process = startProcess(t, "redis", exec.Command(Find(t, "redis-server", "redis-server"), append(args, r.args...)...))
	awaitListening(t, r.Process, r.Addr)
}

// ReplicaOf makes r follow master, and waits until it does.
func (r *Redis) ReplicaOf(t testing.TB, master *Redis) {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	c := DialRESP(t, r.Addr)
	if _, err := c.Do("REPLICAOF", host, port); err != nil {
		t.Fatal(err)
	}
	Eventually(t, Patience, "the replica to follow", func() bool {
		info, err := c.Do("INFO", "replication")
		text, _ := info.(string)
		return err == nil && strings.Contains(text, "master_link_status:up")
	})
}

// Promote makes r a master.
func (r *Redis) Promote(t testing.TB) {
	t.Helper()
	if _, err := DialRESP(t, r.Addr).Do("REPLICAOF", "NO", "ONE"); err != nil {
		t.Fatal(err)
	}
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
	return NewRESP(c)
}

// NewRESP speaks the protocol over a connection.
func NewRESP(c net.Conn) *RESP {
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
