//go:build linux

package e2e

import (
	wire "encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

// client makes one session after another until end.
func (s *soak) client(r *rand.Rand, end time.Time) {
	for time.Now().Before(end) {
		p := newPlan(r, s.sessions.Add(1))
		verdict := make(chan error, 1)
		s.verdicts.Store(p.ID, verdict)
		era := s.era.Load()
		err := s.session(p)
		calm := func() bool { return era%2 == 0 && s.era.Load() == era }
		switch {
		case errors.Is(err, errWrong), calm() && err != nil:
			s.t.Errorf("client of %+v: %v", p, err)
		case p.ordered() && calm():
			select {
			case err := <-verdict:
				if err != nil && calm() {
					s.t.Errorf("backend of %+v: %v", p, err)
				} else if err == nil {
					s.orderly.Add(1)
				}
			case <-time.After(4 * parts.Patience):
				if calm() {
					s.t.Errorf("the backend of %+v was never told of its end", p)
				}
			}
		}
		s.verdicts.Delete(p.ID)
		parts.Pause(time.Duration(r.IntN(10)) * time.Millisecond)
	}
}

// errWrong marks what no restart of a backend excuses.
var errWrong = errors.New("broken promise")

// session is the client's side of a plan. It returns what is wrong with how it ended.
func (s *soak) session(p plan) error {
	c, err := parts.TryDial(sourceOf(int(p.ID)), s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(4 * parts.Patience))
	if err := wire.Write(c, wire.BigEndian, p); err != nil {
		return unlessExpected(p, err)
	}
	sent := make(chan error, 1)
	go func() { sent <- sendPlanned(c, p.Up, p.Client, p.ClientAt) }()
	if p.Client == delays {
		parts.Pause(200 * time.Millisecond)
	}
	got, err := receive(c, p.Client)
	return judgeEnd(p, "down", got, p.Down, p.Backend, p.Client, err, <-sent)
}

// serve is the backend's side of a plan.
func (s *soak) serve(c net.Conn) {
	var p plan
	if wire.Read(c, wire.BigEndian, &p) != nil {
		return // a probe, or a client that is gone
	}
	sent := make(chan error, 1)
	sending := func() { sent <- sendPlanned(c.(*net.TCPConn), p.Down, p.Backend, p.BackendAt) }
	if p.Backend != delays {
		go sending()
	}
	got, err := receive(c, p.Backend)
	if p.Backend == delays {
		sending()
	}
	err = judgeEnd(p, "up", got, p.Up, p.Client, p.Backend, err, <-sent)
	if errors.Is(err, errWrong) {
		s.t.Errorf("backend of %+v: %v", p, err)
	}
	if verdict, ok := s.verdicts.Load(p.ID); ok {
		verdict.(chan error) <- err
	}
}

// sendPlanned sends size bytes of the stream in pieces of all sizes and ends it, or commits m after at bytes.
func sendPlanned(c *net.TCPConn, size int64, m misdeed, at int64) error {
	stop := size
	if !m.ordered() {
		stop = at
	}
	for sent := int64(0); sent < stop; {
		n := min(1+sent%streamPiece, stop-sent, streamPiece)
		if m == dawdles {
			parts.Pause(time.Millisecond)
		}
		if _, err := c.Write(streamAt(sent, int(n))); err != nil {
			return err
		}
		sent += n
	}
	switch m {
	case resets:
		parts.Reset(c)
	case leaves:
		_ = c.Close()
	default:
		return c.CloseWrite()
	}
	return nil
}

// receive reads the stream to its end, and returns how much of it came and why it ended.
func receive(c net.Conn, m misdeed) (int64, error) {
	size := streamPiece
	if m == dawdles {
		size = 8 << 10
	}
	k := newChecker(c, size)
	for {
		if m == dawdles {
			parts.Pause(time.Millisecond)
		}
		if _, err := k.read(); err != nil {
			return k.total, err
		}
	}
}

// judgeEnd returns what is wrong with what one end got: got bytes of want, then end. The other end did theirs, this
// one did ours, and sent is how its sending ended.
func judgeEnd(p plan, way string, got, want int64, theirs, ours misdeed, end, sent error) error {
	report := func(what string) error {
		return fmt.Errorf("%s: %w: got %d of %d bytes, then %w; sending ended with %w", way, errors.New(what), got, want, end, sent)
	}
	broken := func(what string) error { return fmt.Errorf("%w: %w", errWrong, report(what)) }
	cut := broken
	if way == "down" {
		cut = report // a backend that restarts may have closed in order
	}
	if isReset(sent) {
		end = sent // the write has taken the error that the read would have got
	}
	switch {
	case strings.Contains(end.Error(), "wrong bytes"), got > want:
		return broken("other bytes than were sent")
	case errors.Is(end, os.ErrDeadlineExceeded):
		return broken("never told of the end")
	case !ours.ordered():
		return nil // whoever breaks off cannot complain
	case theirs == resets && end == io.EOF:
		return cut("a cut stream looks complete")
	case theirs.ordered() && end == io.EOF && got < want:
		return cut("a clean end before the last byte")
	case p.ordered() && (end != io.EOF || sent != nil):
		return report("not in order")
	}
	return nil
}

func unlessExpected(p plan, err error) error {
	if p.ordered() {
		return err
	}
	return nil
}
