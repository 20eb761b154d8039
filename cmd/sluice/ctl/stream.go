package ctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

const (
	// maxLine bounds a line of a stream.
	maxLine = 1 << 20
	// A connection that is lost is tried again, at first soon.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// message is one of a stream of server-sent events (WHATWG HTML, 9.2).
type message struct {
	event string
	data  []byte
}

// readMessages calls f with each until the stream ends.
func readMessages(r io.Reader, f func(m message) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var m message
	for lines.Scan() {
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\r"))
		if len(line) == 0 { // the end of a message; without data it is none
			if m.data != nil {
				if err := f(m); err != nil {
					return err
				}
			}
			m = message{}
			continue
		}
		// A comment has an empty name; the server sends some, so that the connection lives.
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			m.event = string(value)
		case "data":
			if m.data != nil {
				m.data = append(m.data, '\n')
			}
			m.data = append(m.data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	// What is left of a message that has no end is not to be used.
	return io.EOF
}

// follower prints events as they come, over lost connections and restarts of the server.
type follower struct {
	c       *call
	service string
	last    uint64    // event that was printed
	started time.Time // of the process that numbered it
	print   func(e api.Event, raw []byte) error
}

// follow returns when ctx ends, which is no failure, or when the server refuses.
func (f *follower) follow(ctx context.Context) error {
	retry := firstRetry
	for {
		before := f.last
		err := f.once(ctx)
		var stop stopError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &stop):
			return stop.error
		case errors.As(err, new(*refusal)):
			return err
		}
		if f.last != before { // it was a good connection
			retry = firstRetry
		}
		f.c.out.flush()
		f.c.warn("no events for now, trying again: %s", firstLine(err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
		retry = min(2*retry, lastRetry)
	}
}

// stopError is one of ours, which another connection would not mend.
type stopError struct{ error }

// firstLine is enough of an error that comes again with each attempt.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// once follows one connection to its end.
func (f *follower) once(ctx context.Context) error {
	s, _, err := f.c.client.status(ctx)
	if err != nil {
		return err
	}
	if !f.started.IsZero() && !f.started.Equal(s.Started) {
		f.c.warn("sluice was restarted at %s", s.Started)
		f.last = 0 // another process counts from the beginning
	}
	f.started = s.Started
	r := request{path: "/events/stream", accept: streamType, query: url.Values{"since": {strconv.FormatUint(f.last, 10)}}, service: f.service}
	if f.service != "" {
		r.query.Set("service", f.service)
	}
	resp, err := f.c.client.open(ctx, r)
	if err != nil {
		return f.c.explainMissing(ctx, r, err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, streamType) {
		return stopError{fmt.Errorf("%s (%s) answers with %s and not with a stream of events: is this its admin address?", f.c.shown, f.c.source, quote(kind))}
	}
	err = readMessages(resp.Body, f.take)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s (%s) ended the stream", f.c.shown, f.c.source)
	}
	return err
}

// take prints one message. Those of kinds that are not known are skipped.
func (f *follower) take(m message) error {
	if m.event == "lost" {
		var n struct {
			Lost int `json:"lost"`
		}
		_ = json.Unmarshal(m.data, &n) // that some were lost is said without a number as well
		f.c.out.flush()
		f.c.warn("%s lost here: too many at a time", plural(max(1, n.Lost), "event"))
		return nil
	}
	var e api.Event
	if err := json.Unmarshal(m.data, &e); err != nil || e.Kind == "" {
		return nil
	}
	if e.ID <= f.last {
		return nil // seen before the connection was lost
	}
	f.last = e.ID
	if err := f.print(e, m.data); err != nil {
		return stopError{err}
	}
	return nil
}
