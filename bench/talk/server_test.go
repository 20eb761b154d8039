package talk

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is one that a test runs, and what it was told.
type server struct {
	addr  string
	first chan uint64
	wrong chan error
	end   func() // returns once it has ended
}

func serving(t *testing.T) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{addr: ln.Addr().String(), first: make(chan uint64, 10), wrong: make(chan error, 10)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h := Hooks{Backend: 3, First: func(n uint64) { s.first <- n }, Wrong: func(err error) { s.wrong <- err }}
		if err := Serve(ctx, ln, h); err != nil {
			t.Error(err)
		}
	}()
	s.end = func() {
		cancel()
		<-ended
	}
	t.Cleanup(s.end)
	return s
}

func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func TestAClientLearnsWhoAnswers(t *testing.T) {
	s := serving(t)
	backend, err := Exchange(s.dial(t), 77)
	if backend != 3 || err != nil {
		t.Errorf("backend %d, %v", backend, err)
	}
	if got := <-s.first; got != 77 {
		t.Errorf("first of session %d", got)
	}
}

func TestMessagesInOrderAreAnsweredInOrder(t *testing.T) {
	s := serving(t)
	c := s.dial(t)
	var all []byte
	for i := range uint32(100) { // at once, so that reads and messages do not coincide
		all = Request(all, 5, i)
	}
	if _, err := c.Write(all); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, Size)
	for i := range uint32(100) {
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		if backend, err := ParseAnswer(b, 5, i); backend != 3 || err != nil {
			t.Fatalf("message %d: backend %d, %v", i, backend, err)
		}
	}
	if <-s.first; len(s.first) != 0 {
		t.Error("more than one first message")
	}
}

func TestASessionThatBreaksTheOrderIsCountedAndReset(t *testing.T) {
	changed := Request(nil, 1, 1)
	changed[30] ^= 1
	tests := []struct {
		name string
		then []byte
		says string
	}{
		{"lost", Request(nil, 1, 2), "2 of session 1, 1 of session 1 belongs here"},
		{"doubled", Request(nil, 1, 0), "0 of session 1, 1 of session 1"},
		{"of another session", Request(nil, 2, 1), "1 of session 2, 1 of session 1"},
		{"changed", changed, "sum"},
		{"an answer", Answer(nil, 1, 1, 0), "a request belongs here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serving(t)
			c := s.dial(t)
			if _, err := Exchange(c, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(tt.then); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("it ended with %v", err)
			}
			if err := <-s.wrong; !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}

func TestASessionThatEndsWithinAMessageIsCounted(t *testing.T) {
	s := serving(t)
	c := s.dial(t)
	if _, err := c.Write(Request(nil, 1, 0)[:10]); err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	if err := <-s.wrong; !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), "10 bytes") {
		t.Errorf("%v", err)
	}
}

func TestAServerThatEndsDoesSoInOrder(t *testing.T) {
	s := serving(t)
	c, silent := s.dial(t), s.dial(t)
	if _, err := Exchange(c, 1); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.end()
	}()
	for _, c := range []net.Conn{c, silent} {
		if rest, err := io.ReadAll(c); len(rest) != 0 || err != nil {
			t.Errorf("%d bytes and %v instead of the end", len(rest), err)
		}
	}
	// What is sent meanwhile must not make a reset of it.
	if _, err := c.Write(Request(nil, 1, 1)); err != nil {
		t.Errorf("after the end: %v", err)
	}
	_ = c.Close()
	<-ended // though the other one's client holds its half open
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("it still listens")
	}
	if len(s.wrong) != 0 {
		t.Errorf("wrong: %v", <-s.wrong)
	}
}

func TestANewSessionIsAnsweredThoughTheServerEnds(t *testing.T) {
	s := serving(t)
	c := s.dial(t)
	if _, err := Exchange(s.dial(t), 1); err != nil { // so the first has been accepted
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.end()
	}()
	for { // until it has begun to end
		other, err := net.Dial("tcp", s.addr)
		if err != nil {
			break
		}
		_ = other.Close()
	}
	if backend, err := Exchange(c, 2); backend != 3 || err != nil {
		t.Errorf("backend %d, %v", backend, err)
	}
	if rest, err := io.ReadAll(c); len(rest) != 0 || err != nil {
		t.Errorf("%d bytes and %v instead of the end", len(rest), err)
	}
	_ = c.Close()
	<-ended
}

func TestAnEndInsteadOfAnAnswerIsItsOwnError(t *testing.T) {
	tests := []struct {
		name string
		b    []byte
		want error
	}{
		{"the end", nil, io.EOF},
		{"half an answer", Answer(nil, 9, 0, 1)[:20], io.ErrUnexpectedEOF},
		{"an echo", Request(nil, 9, 0), ErrWrong},
		{"another session's", Answer(nil, 8, 0, 1), ErrWrong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			go func() {
				defer far.Close()
				_, _ = io.ReadFull(far, make([]byte, Size))
				_, _ = far.Write(tt.b)
			}()
			if _, err := Exchange(near, 9); !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAServerWhoseListenerIsClosedSaysSo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if err := Serve(t.Context(), ln, Hooks{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}
