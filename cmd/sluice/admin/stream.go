package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

const (
	keepAlive     = 15 * time.Second // between two signs of life; proxies cut what is silent for a minute
	streamTimeout = 30 * time.Second // for one event to be taken; a reader that stopped does not keep its place
)

// streamed is an event on its way to a reader, and how many before it were lost.
type streamed struct {
	event api.Event
	lost  int
}

// streamEvents answers with events as they come. Where a browser reconnects, Last-Event-ID
// is newer than the since of the address.
func (s *Server) streamEvents(q *request) (any, error) {
	since, err := eventID("since", q.text("since"))
	if last := q.Header.Get("Last-Event-ID"); err == nil && last != "" {
		since, err = eventID("last-event-id", last)
	}
	if err != nil {
		return nil, err
	}
	return answer(func(w http.ResponseWriter) error {
		if q.Method == http.MethodHead {
			w.Header().Set("Content-Type", "text/event-stream")
			return nil
		}
		select {
		case s.streams <- struct{}{}:
			defer func() { <-s.streams }()
		default:
			return refused(api.CodeBusy, "there are %d streams already: want at most that many", cap(s.streams))
		}
		s.stream(w, q, since)
		return nil
	}), nil
}

// stream sends until the reader is gone or the server stops.
func (s *Server) stream(w http.ResponseWriter, q *request, since uint64) {
	ctx, cancel := context.WithCancel(q.Context())
	events, done := make(chan streamed), make(chan struct{})
	go func() {
		defer close(done)
		s.follow(ctx, since, q.text("service"), events)
	}()
	defer func() {
		cancel()
		<-done
	}()

	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy between
	out := feed{w: w, rc: http.NewResponseController(w)}
	out.rc.SetReadDeadline(time.Time{}) // its end would be taken for the reader's
	for ok := out.send("retry: 2000\n\n"); ok; {
		select {
		case e := <-events:
			ok = out.event(e)
		case <-time.After(keepAlive):
			ok = out.send(":\n\n")
		case <-done: // the process ended it
			return
		case <-ctx.Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// follow passes events on until ctx is done. It waits for the reader, and Control does not
// wait for it: what is lost meanwhile is Control's to count.
func (s *Server) follow(ctx context.Context, since uint64, service string, to chan<- streamed) {
	defer func() {
		if p := recover(); p != nil { // not in the handler's own goroutine: it would end the process
			s.cfg.Log.Error("admin handler panicked", "path", prefix+"events/stream", "panic", p)
		}
	}()
	missed := 0
	err := s.cfg.Control.Follow(ctx, since, func(e api.Event, lost int) error {
		missed += lost
		if service != "" && e.Service != service {
			return nil
		}
		select {
		case to <- streamed{e, missed}:
			missed = 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.Debug("admin stream ended", "error", err)
	}
}

// feed writes an event stream.
type feed struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// send is false when the reader is gone, or took too long.
func (f *feed) send(text string) bool {
	f.rc.SetWriteDeadline(time.Now().Add(streamTimeout))
	if _, err := f.w.Write([]byte(text)); err != nil {
		return false
	}
	return f.rc.Flush() == nil
}

func (f *feed) event(e streamed) bool {
	if e.lost > 0 && !f.send(fmt.Sprintf("event: lost\ndata: {\"lost\":%d}\n\n", e.lost)) {
		return false
	}
	data, err := json.Marshal(e.event)
	if err != nil {
		panic(fmt.Errorf("admin: event: %w", err))
	}
	// Marshal leaves no line break in data, and kinds are words of our own.
	return f.send(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.event.ID, e.event.Kind, data))
}
