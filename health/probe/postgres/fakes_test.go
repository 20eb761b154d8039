package postgres

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/probetest"
)

// message is one of the server's.
func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))) + body
}

// fatal is an ErrorResponse that ends the conversation.
func fatal(code, text string) string {
	return message('E', "SFATAL\x00VFATAL\x00C"+code+"\x00M"+text+"\x00Rroutine\x00\x00")
}

var (
	letIn = message('R', "\x00\x00\x00\x00")
	ready = message('Z', "I")
)

// role is the answer to the question for it.
func role(recovery, readOnly string) string {
	column := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x19\xff\xff\xff\xff\xff\xff\x00\x00"
	row := "\x00\x02"
	for _, v := range []string{recovery, readOnly} {
		row += string(binary.BigEndian.AppendUint32(nil, uint32(len(v)))) + v
	}
	return message('T', "\x00\x02a\x00"+column+"b\x00"+column) + message('D', row) + message('C', "SELECT 1\x00") + ready
}

// conversation is a server that answers the startup packet and then each message with the
// next of its answers. It tells said all kinds of message it got, and how the stream ended.
func conversation(said chan<- string, answers ...string) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		kinds := ""
		end := func(err error) {
			if err != io.EOF {
				kinds += " " + err.Error()
			}
			said <- kinds
		}
		for i := 0; ; i++ {
			if i > 0 {
				kind, err := r.ReadByte()
				if err != nil {
					end(err)
					return
				}
				kinds += string(kind)
			}
			var length [4]byte
			if _, err := io.ReadFull(r, length[:]); err != nil {
				end(err)
				return
			}
			if _, err := r.Discard(int(binary.BigEndian.Uint32(length[:])) - 4); err != nil {
				end(err)
				return
			}
			if i < len(answers) {
				io.WriteString(c, answers[i])
			}
		}
	}
}

// byByte is a server that says text a byte at a time, and then reads to the end.
func byByte(text string) func(net.Conn) {
	return func(c net.Conn) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for _, b := range []byte(text) {
			<-tick.C
			c.Write([]byte{b})
		}
		io.Copy(io.Discard, c)
	}
}

// serveUnix is probetest.Serve on a Unix socket, for one connection.
func serveUnix(t *testing.T, handle func(net.Conn)) health.Endpoint {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		handle(c)
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	return health.Endpoint{Network: "unix", Address: path}
}

// says checks the whole text of what a probe of a fake server says, "" for a pass, and that
// it gives away no password.
func says(t *testing.T, c Config, handle func(net.Conn), within time.Duration, want string) {
	t.Helper()
	err := probetest.Probe(newProber(t, probetest.Serve(t, handle), c), within)
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if c.Password != "" && strings.Contains(got, c.Password) {
		t.Errorf("the password is in %q", got)
	}
}
