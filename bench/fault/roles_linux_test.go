package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

// playWorker is the main function of a backend, as l4bench's worker command is.
func playWorker(id, addr string) {
	n, err := strconv.Atoi(id)
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Serve(ctx, n, addr, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playRole is the main function of a parent that is killed: it prints the addresses of its
// backends, of which one is stopped.
func playRole(string) {
	f, err := Start(context.Background(), 2, testWorker(), "")
	if err != nil {
		panic(err)
	}
	if err := f.Break(context.Background(), 1, Stop); err != nil {
		panic(err)
	}
	fmt.Println(strings.Join(f.Addrs(), " "))
	select {}
}

func testWorker() []string { return []string{os.Args[0], workerArg} }

// running starts n backends for a test.
func running(t *testing.T, n int) *Fleet {
	t.Helper()
	f, err := Start(t.Context(), n, testWorker(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// must breaks or mends.
func must(t *testing.T, do func(context.Context, int, Fault) error, i int, fault Fault) {
	t.Helper()
	if err := do(t.Context(), i, fault); err != nil {
		t.Fatal(err)
	}
}

// session is a connection of a test, with one exchange after the other.
type session struct {
	*net.TCPConn
	number  uint64
	next    uint32
	waiting bool // for an answer
}

// patience of a client that is to be served: a test that waits for so long has failed.
const patience = 20 * time.Second

func open(t *testing.T, addr string, number uint64) *session {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &session{TCPConn: c.(*net.TCPConn), number: number}
}

// exchange sends the next message and waits for its answer.
func (s *session) exchange(within time.Duration) (backend int, err error) {
	if err := s.send(); err != nil {
		return 0, err
	}
	return s.receive(within)
}

func (s *session) send() error {
	s.next++
	s.waiting = true
	_, err := s.Write(talk.Request(nil, s.number, s.next-1))
	return err
}

// receive reads the answer to the last message.
func (s *session) receive(within time.Duration) (backend int, err error) {
	_ = s.SetReadDeadline(time.Now().Add(within))
	b := make([]byte, talk.Size)
	for read := 0; read < len(b); {
		n, err := s.Read(b[read:])
		if err != nil {
			return 0, err
		}
		read += n
	}
	s.waiting = false
	return talk.ParseAnswer(b, s.number, s.next-1)
}

// served fails the test unless the session is answered by backend i.
func (s *session) served(t *testing.T, i int) {
	t.Helper()
	if backend, err := s.exchange(patience); backend != i || err != nil {
		t.Fatalf("session %d: backend %d, %v; want %d", s.number, backend, err, i)
	}
}

// silent fails the test if an answer to what was sent, an end or a reset comes.
func (s *session) silent(t *testing.T) {
	t.Helper()
	if backend, err := s.receive(silentFor); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("session %d: backend %d, %v; want silence", s.number, backend, err)
	}
}
