package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
)

// Step is one turn of a conversation: it sends, then reads until what it wants has come.
// At least one field is set, and Expect and Regexp exclude each other.
type Step struct {
	// Send is sent first, as it is; "" sends nothing, for a server that speaks first.
	Send string
	// Expect passes once it stands anywhere in the answer, byte for byte. It is not tied to
	// the beginning, since what matters often stands further in (role:master in the answer
	// to INFO). "OK" is found in "NOT OK", too: where the place matters, Regexp has ^.
	Expect string
	// Regexp passes once it matches anywhere in the answer; the syntax is that of package
	// regexp. It sees only what has come so far, which may end anywhere: what looks at the
	// end of the text ($, \z, \b) can match half an answer, so "OK$" is found in the first
	// two bytes of "OK, but no". Write the end of the line instead: "OK\r\n". For bytes that
	// are no UTF-8 there is Expect.
	Regexp string
}

// SendExpect is a conversation of one or more steps, in order; all must pass.
type SendExpect struct {
	Steps []Step
	TLS   *tls.Config // nil is plain text; without a ServerName the endpoint's host is asked for
}

const (
	stepSendExpect = "send-expect"
	sendExpectTLS  = "send-expect tls"

	maxShown = 48       // of a wanted text and of an answer, in the error's text, as quoted
	maxSaw   = 4 << 10  // of an answer, as evidence; a verdict keeps less
	maxRecv  = 64 << 10 // of one step's answer
)

// NewSendExpect returns a prober that holds a conversation of its own with every probe.
// Errors wrap [ErrConfig]: no step, an empty one, two expectations in one, a regular
// expression that cannot be compiled or is content with nothing, an expectation longer
// than 64 KB.
//
// The answer of a step that sends begins with what is read after sending: what came before
// is forgotten, so that it cannot pass for an answer. A step that sends nothing goes on where
// the match of the step before it ended, however the bytes were cut into segments. The
// beginning of the answer, where ^ stands, is meant in that sense; what follows a match
// but arrives late counts for the next step, so let a step match its answer to the end
// where the next one is tied to the beginning.
//
// An answer fails if it has 64 KB and no match, or ends without one. One that is wrong but
// neither fails at the deadline, as more might come. A step that expects nothing passes
// when the kernel has taken what it sends, and so proves no more than [TCP].
//
// After the last step, or the first that fails, the connection ends in order. A protocol
// with a farewell of its own needs it as the last step, or its server may log each
// probe. Errors show what was wanted and what came, and never what was sent; a backend may
// echo that, though.
func NewSendExpect(e Endpoint, s SendExpect) (Prober, error) {
	if len(s.Steps) == 0 {
		return nil, fmt.Errorf("%w: send-expect without a step", ErrConfig)
	}
	p := &sendExpect{endpoint: e, tls: e.Secure(s.TLS)}
	for i, step := range s.Steps {
		name := stepSendExpect
		if len(s.Steps) > 1 {
			name = fmt.Sprintf("%s step %d", stepSendExpect, i+1)
		}
		w, err := newWanted(step)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrConfig, name, err)
		}
		p.turns = append(p.turns, turn{name: name, send: []byte(step.Send), wanted: w})
	}
	return p, nil
}

// newWanted checks a step and compiles what it expects.
func newWanted(s Step) (w wanted, err error) {
	switch {
	case s == Step{}:
		return w, errors.New("nothing to send and nothing to expect")
	case s.Expect != "" && s.Regexp != "":
		return w, errors.New("a text and a regular expression, want one of them")
	case len(s.Expect) > maxRecv:
		return w, fmt.Errorf("expects %d bytes, want at most %d", len(s.Expect), maxRecv)
	case s.Regexp == "":
		return wanted{text: []byte(s.Expect)}, nil
	}
	if w.pattern, err = regexp.Compile(s.Regexp); err != nil {
		return w, err
	}
	if w.pattern.MatchString("") {
		return w, fmt.Errorf("the regular expression %#q matches no answer at all", s.Regexp)
	}
	return w, nil
}

type sendExpect struct {
	endpoint Endpoint
	turns    []turn
	tls      *tls.Config
}

// turn is a step made ready.
type turn struct {
	name string
	send []byte
	wanted
}

func (p *sendExpect) Probe(ctx context.Context) error {
	return p.endpoint.Exchange(ctx, sendExpectTLS, p.tls, func(conn net.Conn) error {
		var rest []byte
		for _, t := range p.turns {
			var err error
			if rest, err = t.take(ctx, conn, rest); err != nil {
				return err
			}
		}
		return nil
	})
}

// take makes one step after one that left rest of its answer, and returns its own rest.
func (t turn) take(ctx context.Context, conn net.Conn, rest []byte) ([]byte, error) {
	if len(t.send) > 0 {
		rest = nil
		if _, err := conn.Write(t.send); err != nil {
			return nil, &Failure{Step: t.name, Err: fmt.Errorf("sending: %w", plain(ctx, err))}
		}
	}
	if t.nothing() {
		return rest, nil
	}
	a := answer{wanted: t.wanted, data: rest}
	if err := a.receive(conn); err != nil {
		saw := string(a.data[:min(len(a.data), maxSaw)])
		return nil, &Failure{Step: t.name, Err: t.missed(ctx, a.data, err), Saw: saw}
	}
	return a.data[a.end:], nil
}

// missed words why an answer that is not what was wanted is all there is.
func (t turn) missed(ctx context.Context, got []byte, err error) error {
	cause := plain(ctx, err)
	if len(got) == 0 {
		return fmt.Errorf("want %s: %w", t.wanted, cause)
	}
	switch {
	case ctx.Err() != nil: // says why by itself
	case errors.Is(err, ErrTooLong):
		cause = reworded{fmt.Sprintf("no match within %d KB", maxRecv>>10), err}
	case errors.Is(err, io.EOF):
		cause = reworded{"the connection closed", err}
	}
	return fmt.Errorf("want %s, got %s and then %w", t.wanted, quoted(got), cause)
}

// quoted returns the beginning of s in quotes, of bounded length whatever is in it.
func quoted(s []byte) string {
	s = s[:min(len(s), maxShown+1)]
	for n := len(s); ; n-- {
		if q := strconv.Quote(string(s[:n])); len(q) <= maxShown {
			if n < len(s) {
				q = q[:len(q)-1] + `..."`
			}
			return q
		}
	}
}

// receive reads from conn until the answer has what is wanted. Its error says why it does
// not go on; a match in what came before stands.
func (a *answer) receive(conn io.Reader) error {
	for !a.found(false) {
		if len(a.data) >= maxRecv {
			return a.over(ErrTooLong)
		}
		a.data = slices.Grow(a.data, min(4<<10, maxRecv-len(a.data)))
		n, err := conn.Read(a.data[len(a.data):min(cap(a.data), maxRecv)])
		a.data = a.data[:len(a.data)+n]
		if err != nil {
			return a.over(err)
		}
	}
	return nil
}

// over is the end of an answer: err, unless a last look finds what is wanted.
func (a *answer) over(err error) error {
	if a.found(true) {
		return nil
	}
	return err
}
