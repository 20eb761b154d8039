package health

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
)

// SendExpect is a conversation in steps. The zero value is none: it needs a step.
type SendExpect struct {
	Steps []Step
	TLS   *tls.Config // nil is plain text; without a ServerName the endpoint's host is asked for
}

// Step is one turn of a conversation: what is sent, then what is waited for.
type Step struct {
	Send string // "" sends nothing: the backend speaks first
	// Expect is a text that has to come, anywhere in what the step receives; Regexp, of
	// Go's syntax, is what that has to match. At most one of them may be set. Without
	// either the step passes once its Send is written. A regular expression is tried on
	// what is there so far, so its $ matches where a segment happens to end: write the
	// line's end into it.
	Expect, Regexp string
}

const (
	// stepBytes bounds what one step receives, patternBytes likewise where a regular
	// expression is tried anew with every read.
	stepBytes    = 64 << 10
	patternBytes = 4 << 10

	stepSendExpect = "send-expect"
)

// sendExpect is a prober of compiled steps.
type sendExpect struct {
	endpoint Endpoint
	tls      *tls.Config
	steps    []Step
	patterns []*regexp.Regexp // nil where a step has none
}

// NewSendExpect returns a prober that goes through the steps in order and passes after the
// last. What a step receives beyond what it waits for is not seen by the next one. Errors
// wrap [ErrConfig].
func NewSendExpect(t Endpoint, s SendExpect) (Prober, error) {
	p := &sendExpect{endpoint: t, tls: t.Secure(s.TLS), steps: slices.Clone(s.Steps)}
	if len(p.steps) == 0 {
		return nil, fmt.Errorf("%w: a conversation needs a step", ErrConfig)
	}
	for i, step := range p.steps {
		var pattern *regexp.Regexp
		switch {
		case step == Step{}:
			return nil, fmt.Errorf("%w: step %d does nothing: want something to send or to expect", ErrConfig, i+1)
		case step.Expect != "" && step.Regexp != "":
			return nil, fmt.Errorf("%w: step %d: want one of a text and a regular expression", ErrConfig, i+1)
		case step.Regexp != "":
			var err error
			if pattern, err = regexp.Compile(step.Regexp); err != nil {
				return nil, fmt.Errorf("%w: step %d: %w", ErrConfig, i+1, err)
			}
		}
		p.patterns = append(p.patterns, pattern)
	}
	return p, nil
}

func (p *sendExpect) Probe(ctx context.Context) error {
	return p.endpoint.Exchange(ctx, stepSendExpect+" tls", p.tls, func(conn net.Conn) error {
		for i := range p.steps {
			if err := p.step(ctx, conn, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// step makes the turn of one step.
func (p *sendExpect) step(ctx context.Context, conn net.Conn, i int) error {
	s, name := p.steps[i], stepSendExpect
	if len(p.steps) > 1 {
		name = fmt.Sprintf("%s step %d", stepSendExpect, i+1)
	}
	if s.Send != "" {
		if _, err := io.WriteString(conn, s.Send); err != nil {
			return Fail(ctx, name, err)
		}
	}
	if s.Expect == "" && s.Regexp == "" {
		return nil
	}
	got, err := p.await(conn, i)
	if err == nil {
		return nil
	}
	want := s.Expect
	if s.Regexp != "" {
		want = "/" + s.Regexp + "/"
	}
	if len(got) == 0 {
		return Fail(ctx, name, err)
	}
	if !errors.Is(err, ErrTooLong) {
		err = afterWords(plain(ctx, err))
	}
	return &Failure{Step: name, Err: fmt.Errorf("want %.60q, got %.60q, then %w", want, got, err), Saw: string(got)}
}

// afterWords words an end that comes after something was said.
func afterWords(err error) error {
	if errors.Is(err, io.EOF) {
		return reworded{"the connection was closed", err}
	}
	return err
}

// await reads until what a step waits for has come, and returns all that it read.
func (p *sendExpect) await(conn net.Conn, i int) (got []byte, err error) {
	most := stepBytes
	if p.patterns[i] != nil {
		most = patternBytes
	}
	for err == nil {
		if len(got) == most {
			return got, ErrTooLong
		}
		got = slices.Grow(got, min(512, most-len(got)))
		var n int
		n, err = conn.Read(got[len(got):min(cap(got), most)])
		seen := len(got)
		if got = got[:seen+n]; n > 0 && p.matches(got, seen, i) {
			return got, nil
		}
	}
	return got, err
}

// matches looks whether what a step waits for is there. A text that was not in the first
// seen bytes is looked for behind them.
func (p *sendExpect) matches(got []byte, seen, i int) bool {
	if p.patterns[i] != nil {
		return p.patterns[i].Match(got)
	}
	want := []byte(p.steps[i].Expect)
	return bytes.Contains(got[max(0, seen-len(want)+1):], want)
}
