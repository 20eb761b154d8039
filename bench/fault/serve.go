package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

// Serve is a backend: number id, from 0, on addr. It does what in tells it, and answers on
// out, until in ends or ctx does; then its sessions end in order. An error is one of
// listening or accepting. A goroutine of it remains until in ends.
func Serve(ctx context.Context, id int, addr string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &server{id: id, addr: addr, fail: cancel, say: json.NewEncoder(out), live: map[*net.TCPConn]struct{}{}}
	defer s.running.Wait()
	defer cancel(nil)
	s.mode = newMode("")
	s.mu.Lock()
	err := s.listen(ctx)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.reply(reply{}); err != nil {
		return err
	}
	go func() {
		cancel(s.obey(ctx, in))
	}()
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln != nil {
		_ = s.refuse(ctx) // the listener is closed in any case
	}
	_ = s.reply(reply{}) // who is told may be gone
	var failed acceptError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// acceptError is why a backend ends that was not told to.
type acceptError struct{ error }

// server is what a backend knows.
type server struct {
	id      int
	addr    string
	fail    context.CancelCauseFunc
	running sync.WaitGroup // sessions and who accepts them

	sayMu sync.Mutex
	say   *json.Encoder

	mu         sync.Mutex       // guards all below
	ln         *net.TCPListener // nil = refused
	mode       mode
	live       map[*net.TCPConn]struct{}
	seen       []sighting
	wrong      int
	firstWrong string
}

// mode is how new connections are treated.
type mode struct {
	fault Fault // empty = as they should
	from  int64
	over  chan struct{} // closed at its end
}

func newMode(f Fault) mode { return mode{f, monotonic(), make(chan struct{})} }

// reply says a line; its time is now if it has none.
func (s *server) reply(r reply) error {
	s.sayMu.Lock()
	defer s.sayMu.Unlock()
	if r.At == 0 {
		r.At = monotonic()
	}
	return s.say.Encode(r)
}

// obey reads commands until there are no more.
func (s *server) obey(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := s.reply(s.do(ctx, lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (s *server) do(ctx context.Context, line string) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	command, fault, _ := strings.Cut(line, " ")
	var err error
	switch command {
	case breakCommand:
		err = s.breakBy(ctx, Fault(fault))
	case mendCommand:
		err = s.mend(ctx)
	case reportCommand:
		return reply{Wrong: s.wrong, FirstWrong: s.firstWrong, Seen: s.seen}
	default:
		err = fmt.Errorf("no command %q", command)
	}
	if err != nil {
		return reply{Error: err.Error()}
	}
	return reply{At: s.mode.from}
}

// breakBy breaks what is whole.
func (s *server) breakBy(ctx context.Context, f Fault) error {
	if s.mode.fault != "" {
		return fmt.Errorf("already broken: %s", s.mode.fault)
	}
	var err error
	switch f {
	case Refuse:
		err = s.refuse(ctx)
	case Blackhole:
		err = deafen(s.ln)
	case HalfOpen:
		err = errors.Join(deafen(s.ln), s.each(deafen))
	case Reset, Slow, Mute:
	default:
		err = fmt.Errorf("no fault %q that a process can do by itself", f)
	}
	if err == nil {
		s.mode = newMode(f)
	}
	return err
}

// mend undoes breakBy.
func (s *server) mend(ctx context.Context) error {
	err := context.Cause(ctx) // one that ends listens no more
	if err != nil {
		return err
	}
	switch s.mode.fault {
	case "":
		return errors.New("not broken")
	case Refuse:
		err = s.listen(ctx)
	case Blackhole:
		err = undeafen(s.ln)
	case HalfOpen:
		err = errors.Join(undeafen(s.ln), s.each(undeafen))
	}
	if err == nil {
		close(s.mode.over)
		s.mode = newMode("")
	}
	return err
}

// each does something to all sessions; one that has just been closed needs it no more.
func (s *server) each(do func(syscall.Conn) error) error {
	for c := range s.live {
		if err := do(c); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
	}
	return nil
}

// listen begins to accept. Connections send no keep-alives: they would speak when the
// backend is to be silent. Multipath TCP knows no filters.
func (s *server) listen(ctx context.Context) error {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false)
	ln, err := config.Listen(ctx, "tcp4", s.addr)
	if err != nil {
		return err
	}
	tcp := ln.(*net.TCPListener)
	s.ln = tcp
	s.running.Go(func() { s.accept(ctx, tcp) })
	return nil
}

// refuse stops listening, and serves who has come before.
func (s *server) refuse(ctx context.Context) error {
	last, err := finish(s.ln)
	s.ln = nil
	for _, c := range last {
		s.running.Go(func() { s.session(ctx, c) })
	}
	return err
}

// listens tells whether ln is to be listened on.
func (s *server) listens(ln *net.TCPListener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ln == ln
}

// accept accepts until connections are refused.
func (s *server) accept(ctx context.Context, ln *net.TCPListener) {
	for {
		c, err := ln.AcceptTCP()
		if err != nil {
			if s.listens(ln) {
				s.fail(acceptError{err})
			}
			return
		}
		s.running.Go(func() { s.session(ctx, c) })
	}
}

func (s *server) session(ctx context.Context, c *net.TCPConn) {
	m := s.enter(c)
	defer s.leave(c)
	switch m.fault {
	case Reset:
		talk.Reset(c)
		return
	case Slow:
		await(ctx, m.over, time.After(SlowBy))
	}
	talk.ServeConn(ctx, c, talk.Hooks{
		Backend: s.id,
		First: func(session uint64) {
			s.saw(c, m, session)
			if m.fault == Mute {
				await(ctx, m.over, nil)
			}
		},
		Wrong: s.count,
	})
}

// await waits for the end of a fault, of the backend, or of a time if that is not nil.
func await(ctx context.Context, over <-chan struct{}, timer <-chan time.Time) {
	select {
	case <-over:
	case <-timer:
	case <-ctx.Done():
	}
}

// enter counts a session in, and returns how it is to be treated.
func (s *server) enter(c *net.TCPConn) mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[c] = struct{}{}
	if s.mode.fault == HalfOpen { // it came before, and waited to be accepted
		_ = deafen(c)
	}
	return s.mode
}

func (s *server) leave(c *net.TCPConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, c)
}

// saw keeps when a session's first message came. Where that is not known exactly it is put
// later: one that was late would else seem to have come while it was still broken.
func (s *server) saw(c *net.TCPConn, m mode, session uint64) {
	ago := arrived(c)
	read := monotonic()
	at := max(read-int64(ago), m.from)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, sighting{session, at, read, m.fault == Slow || m.fault == Mute})
}

func (s *server) count(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong++; s.wrong == 1 {
		s.firstWrong = err.Error()
	}
}
