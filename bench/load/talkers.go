package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

// TalkEvery is how often a long session sends a message.
const TalkEvery = 50 * time.Millisecond

// Bounds of a long session.
const (
	talkAgain = 100 * time.Millisecond // after one has ended
	talkEnd   = 500 * time.Millisecond // for answers that are due at the end of the load
)

// Speech is a protocol of numbered messages of one length, in order.
type Speech struct {
	// Size is the length of an answer in bytes, more than 0.
	Size int
	// Request appends message number of a session, from 0, to dst.
	Request func(dst []byte, session uint64, number uint32) []byte
	// Check tells whether b is the answer to it, and who gave it; -1 = it cannot be known.
	// Errors wrap talk.ErrWrong.
	Check func(b []byte, session uint64, number uint32) (backend int, err error)
}

// Numbered is the protocol of package talk, whose servers say who they are.
func Numbered() Speech { return Speech{talk.Size, talk.Request, talk.ParseAnswer} }

// Echoed is that of servers which send back what they get.
func Echoed() Speech {
	return Speech{talk.Size, talk.Request, func(b []byte, session uint64, number uint32) (int, error) {
		if s, n, err := talk.ParseRequest(b); err != nil || s != session || n != number {
			return -1, fmt.Errorf("%w: %d of session %d (%v), %d of session %d belongs here", talk.ErrWrong, n, s, err, number, session)
		}
		return -1, nil
	}}
}

// RedisEcho has a redis server send back numbers: ECHO.
func RedisEcho() Speech {
	answer := func(dst []byte, session uint64, number uint32) []byte {
		return fmt.Appendf(dst, "$31\r\n%020d:%010d\r\n", session, number)
	}
	return Speech{len(answer(nil, 0, 0)), func(dst []byte, session uint64, number uint32) []byte {
		return answer(append(dst, "*2\r\n$4\r\nECHO\r\n"...), session, number)
	}, func(b []byte, session uint64, number uint32) (int, error) {
		if want := answer(nil, session, number); string(b) != string(want) {
			return -1, fmt.Errorf("%w: %q, not %q", talk.ErrWrong, b, want)
		}
		return -1, nil
	}}
}

// Talkers are clients that hold long sessions: a message each 50 ms, whether or not earlier
// ones were answered. One that ends is followed by another. A session is never given up by
// its client before the load ends. The clients' instants are spread over the 50 ms.
type Talkers struct {
	Addr string
	// Speech is what they say.
	Speech Speech
	// Clients is how many there are, at least 1.
	Clients int
	// FirstSession is the number of the first session.
	FirstSession uint64
	// Stuck is from when on a missing answer is a wait that is told of, more than 0.
	Stuck time.Duration
	// Since is when the load began; zero = now.
	Since time.Time
}

// Run holds sessions until ctx ends, and returns them in the order in which they ended.
func (t Talkers) Run(ctx context.Context) []Talk {
	if t.Since.IsZero() {
		t.Since = time.Now()
	}
	var sessions atomic.Uint64
	var mu sync.Mutex
	var all []Talk
	each(t.Clients, func(i int) {
		pauseUntil(ctx, t.Since.Add(TalkEvery*time.Duration(i)/time.Duration(t.Clients)))
		for ctx.Err() == nil {
			s := t.hold(ctx, i, t.FirstSession+sessions.Add(1)-1)
			mu.Lock()
			all = append(all, s)
			mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(talkAgain):
			}
		}
	})
	return all
}

// hold holds one session.
func (t Talkers) hold(ctx context.Context, client int, session uint64) Talk {
	h := &held{Talkers: t, talk: Talk{Client: client, Session: session, Began: time.Since(t.Since), Backend: -1}}
	err := h.connect(ctx)
	if err == nil {
		err = h.speak(ctx)
	}
	h.end(ctx, err)
	return h.talk
}

// held is a session that is held.
type held struct {
	Talkers
	talk Talk
	c    net.Conn

	mu   sync.Mutex
	sent []time.Duration // of the messages that were not answered, oldest first
}

func (h *held) connect(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := net.Dialer{KeepAlive: -1}
	var err error
	h.c, err = d.DialContext(dialing, "tcp", h.Addr)
	return err
}

// speak sends and reads until ctx ends, and nil is returned, or something fails.
func (h *held) speak(ctx context.Context) error {
	defer h.c.Close()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.send(ctx)
		var wait time.Duration
		if h.oldest() >= 0 {
			wait = talkEnd
		}
		_ = h.c.SetReadDeadline(time.Now().Add(wait))
	}()
	err := h.read(ctx)
	cancel()
	<-ended
	return err
}

// send sends each message when it is due, and late if it could not be sooner. What does
// not fit the buffers waits for the next one's instant. A write that fails is the reader's
// to notice.
func (h *held) send(ctx context.Context) {
	began := time.Since(h.Since)
	var unsent []byte
	for ctx.Err() == nil {
		due := began + time.Duration(h.talk.Sent)*TalkEvery
		if wait := due - time.Since(h.Since); wait > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		unsent = h.Speech.Request(unsent, h.talk.Session, uint32(h.talk.Sent))
		h.mu.Lock()
		h.sent = append(h.sent, due)
		h.mu.Unlock()
		h.talk.Sent++
		_ = h.c.SetWriteDeadline(h.Since.Add(due + TalkEvery))
		n, _ := h.c.Write(unsent)
		unsent = append(unsent[:0], unsent[n:]...)
	}
}

// read checks the answers.
func (h *held) read(ctx context.Context) error {
	b := make([]byte, h.Speech.Size)
	for {
		if ctx.Err() != nil && h.oldest() < 0 {
			return nil // every answer is in
		}
		_, err := io.ReadFull(h.c, b)
		if err != nil {
			return err
		}
		backend, err := h.Speech.Check(b, h.talk.Session, uint32(h.talk.Answered))
		switch {
		case err != nil:
			return err
		case h.talk.Answered > 0 && backend != h.talk.Backend:
			return fmt.Errorf("%w: backend %d answers in a session of backend %d", talk.ErrWrong, backend, h.talk.Backend)
		}
		h.talk.Backend = backend
		h.talk.Answered++
		h.answered()
	}
}

// oldest is when the oldest message that was not answered was sent; negative = there is
// none.
func (h *held) oldest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sent) == 0 {
		return -1
	}
	return h.sent[0]
}

// answered takes the oldest message off, and keeps how long it waited if that was long.
// A server may answer what was not asked: then there is none.
func (h *held) answered() {
	from := h.oldest()
	if from < 0 {
		return
	}
	h.mu.Lock()
	h.sent = h.sent[1:]
	h.mu.Unlock()
	h.waited(from, time.Since(h.Since))
}

// waited keeps a long wait; those that overlap, of messages sent meanwhile, are one.
func (h *held) waited(from, to time.Duration) {
	if to-from <= h.Stuck {
		return
	}
	if n := len(h.talk.Waits); n > 0 && from <= h.talk.Waits[n-1].To {
		h.talk.Waits[n-1].To = to
		return
	}
	h.talk.Waits = append(h.talk.Waits, Span{from, to})
}

// end says how it ended. That the load ended, whatever was missing then, is no failure; and
// the time that answers were given after it does not count.
func (h *held) end(ctx context.Context, err error) {
	h.talk.Ended = time.Since(h.Since)
	if load, ok := ctx.Deadline(); ok {
		h.talk.Ended = max(h.talk.Began, min(h.talk.Ended, load.Sub(h.Since)))
	}
	if from := h.oldest(); from >= 0 {
		h.waited(from, h.talk.Ended)
	}
	if err != nil && (ctx.Err() == nil || FailureOf(err) == Wrong) {
		h.talk.Failure = FailureOf(err)
	}
}
