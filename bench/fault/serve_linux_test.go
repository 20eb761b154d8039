package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/bench/proc"
)

// spoken is a backend within this process.
type spoken struct {
	addr string
	in   *io.PipeWriter
	out  *bufio.Reader
	err  chan error
}

func speak(t *testing.T, ctx context.Context) *spoken {
	t.Helper()
	ports, err := proc.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW, err := os.Pipe() // holds what nobody reads
	if err != nil {
		t.Fatal(err)
	}
	s := &spoken{addr: proc.Loopback(ports[0]), in: inW, out: bufio.NewReader(outR), err: make(chan error, 1)}
	go func() {
		defer outW.Close()
		s.err <- Serve(ctx, 5, s.addr, inR, outW)
	}()
	t.Cleanup(func() { _, _ = inW.Close(), outR.Close() })
	s.hear(t)
	return s
}

func (s *spoken) hear(t *testing.T) reply {
	t.Helper()
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil || r.At == 0 {
		t.Fatalf("%q: %v", line, err)
	}
	return r
}

func (s *spoken) say(t *testing.T, command string) reply {
	t.Helper()
	if _, err := io.WriteString(s.in, command+"\n"); err != nil {
		t.Fatal(err)
	}
	return s.hear(t)
}

func TestABackendRefusesWhatItDoesNotKnow(t *testing.T) {
	s := speak(t, t.Context())
	for _, tt := range []struct{ command, says string }{
		{"", `no command ""`},
		{"explode now", `no command "explode"`},
		{"break", `no fault ""`},
		{"break kill", `no fault "kill" that a process can do by itself`},
		{"mend", "not broken"},
		{"break mute", ""},
		{"break slow", "already broken: mute"},
		{"mend", ""},
		{"report", ""},
	} {
		if r := s.say(t, tt.command); !strings.Contains(r.Error, tt.says) || (tt.says == "") != (r.Error == "") {
			t.Errorf("%q: %+v", tt.command, r)
		}
	}
	_ = s.in.Close()
	s.hear(t)
	if err := <-s.err; err != nil {
		t.Error(err)
	}
}

func TestABackendThatIsToldToEndSaysWhenItListensNoMore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := speak(t, ctx)
	cancel()
	s.hear(t)
	if err := dial(t.Context(), s.addr, patience); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
	if err := <-s.err; err != nil {
		t.Error(err)
	}
}

func TestABackendWhoseAddressIsTakenSaysSo(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := Serve(t.Context(), 0, ln.Addr().String(), strings.NewReader(""), io.Discard); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
}

func TestNothingComesFromAHalfOpenBackend(t *testing.T) {
	s := speak(t, t.Context())
	c := open(t, s.addr, 1)
	c.served(t, 5)
	if r := s.say(t, "break half-open"); r.Error != "" {
		t.Fatal(r.Error)
	}
	before := received(t, c.TCPConn)
	if err := c.send(); err != nil {
		t.Fatal(err)
	}
	c.silent(t)
	if _, err := c.Write([]byte("what breaks the protocol")); err != nil { // were it heard, it would be reset
		t.Fatal(err)
	}
	c.silent(t)
	if after := received(t, c.TCPConn); after != before {
		t.Errorf("%d segments came", after-before)
	}
}

func TestAHalfOpenBackendAcknowledgesNothing(t *testing.T) {
	s := speak(t, t.Context())
	c := open(t, s.addr, 1)
	c.served(t, 5)
	s.say(t, "break half-open")
	err := control(c, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 300) // ms
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.exchange(patience); !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("%v", err)
	}
}

// received is how many segments have come on a connection.
func received(t *testing.T, c *net.TCPConn) (segments uint32) {
	t.Helper()
	err := control(c, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			segments = info.Segs_in
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return segments
}
