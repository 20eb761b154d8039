package admin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// open opens a stream of events and returns what follows the header.
func open(t *testing.T, c net.Conn, query string, headers ...string) *bufio.Reader {
	t.Helper()
	text := "GET /api/v1/events/stream" + query + " HTTP/1.0\r\nHost: localhost\r\n" // 1.0: no chunks between the lines
	for _, h := range headers {
		text += h + "\r\n"
	}
	if _, err := io.WriteString(c, text+"\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	expectLine(t, in, "HTTP/1.0 200 OK")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\r\n" {
			break
		}
	}
	expectLine(t, in, "retry: 2000")
	expectLine(t, in, "")
	return in
}

func expectLine(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	line, err := in.ReadString('\n')
	if got := strings.TrimRight(line, "\r\n"); err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
		t.Fatalf("line %q, %v; want %q", line, err, want)
	}
}

func event(id uint64, kind, service string) api.Event {
	return api.Event{ID: id, Kind: kind, Service: service, Text: "line\nbreak <b>"}
}

func TestEventsComeAsTheyHappen(t *testing.T) {
	r := begin(t, Config{})
	in := open(t, r.dial(), "?since=3")
	r.control.feed <- streamed{event(4, "transition", "s"), 0}
	expectLine(t, in, "id: 4")
	expectLine(t, in, "event: transition")
	expectLine(t, in, `data: {"id":4,`)
	expectLine(t, in, "")
	r.control.feed <- streamed{event(9, "admin", "s"), 4}
	for _, line := range []string{"event: lost", `data: {"lost":4}`, "", "id: 9", "event: admin", `data: {"id":9,`, ""} {
		expectLine(t, in, line)
	}
	if calls := r.control.noted(); calls[0] != "follow 3" {
		t.Errorf("called %q", calls)
	}
}

func TestAStreamOfOneServiceCountsWhatIsLostOfAll(t *testing.T) {
	r := begin(t, Config{})
	in := open(t, r.dial(), "?service=s")
	r.control.feed <- streamed{event(1, "admin", "other"), 2}
	r.control.feed <- streamed{event(2, "reload", ""), 1}
	r.control.feed <- streamed{event(3, "admin", "s"), 1}
	for _, line := range []string{"event: lost", `data: {"lost":4}`, "", "id: 3"} {
		expectLine(t, in, line)
	}
}

func TestABrowserGoesOnWhereItWasCutOff(t *testing.T) {
	r := begin(t, Config{})
	for _, c := range []struct{ query, header, call string }{
		{"", "Last-Event-ID: 8", "follow 8"}, {"?since=3", "Last-Event-ID: 9", "follow 9"}, {"?since=3", "Last-Event-ID:", "follow 3"}, {"", "X: y", "follow 0"},
	} {
		in := open(t, r.dial(), c.query, c.header)
		r.control.feed <- streamed{event(10, "admin", "s"), 0}
		expectLine(t, in, "id: 10")
		if calls := r.control.noted(); calls[0] != c.call {
			t.Errorf("%v: called %q", c, calls)
		}
		r.endAll()
	}
	r.expect(400, "GET", "/api/v1/events/stream", "", "Last-Event-ID: x")
}

// endAll closes the connections and waits until the streams have ended.
func (r *running) endAll() {
	r.t.Helper()
	r.room.mu.Lock()
	for c := range r.room.conns {
		c.Conn.Close()
	}
	r.room.mu.Unlock()
	for end := time.Now().Add(patience); len(r.Server.streams) > 0; {
		if time.Now().After(end) {
			r.t.Fatal("streams go on")
		}
		r.get("/healthz")
	}
}

func TestThereAreFewStreams(t *testing.T) {
	r := begin(t, Config{})
	for range maxStreams {
		open(t, r.dial(), "")
	}
	p := r.expect(503, "GET", "/api/v1/events/stream", "")
	if p.fault(t).Code != api.CodeBusy || p.header.Get("Retry-After") == "" {
		t.Errorf("%s %v", p.text, p.header)
	}
	r.expect(200, "HEAD", "/api/v1/events/stream", "")
	r.expect(200, "GET", "/api/v1/status", "")
	r.endAll()
	open(t, r.dial(), "")
}

func TestASilentStreamShowsLife(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, _ *Server, ln *pipeListener) {
		c := ln.dial()
		in, start := open(t, c, ""), time.Now()
		for i := 1; i <= 20; i++ { // longer than every timeout there is
			expectLine(t, in, ":")
			expectLine(t, in, "")
			if at := time.Since(start); at != time.Duration(i)*keepAlive {
				t.Fatalf("sign of life %d after %v", i, at)
			}
		}
		c.Close()
	})
}

// A chunked body of nothing gives a question a deadline for reading.
func TestAStreamOutlivesTheDeadlineOfABody(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, _ *Server, ln *pipeListener) {
		c := ln.dial()
		io.WriteString(c, "GET /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		go func() {
			time.Sleep(2 * time.Minute)
			c.Close()
		}()
		start := time.Now()
		if ended(c); time.Since(start) != 2*time.Minute {
			t.Errorf("ended after %v", time.Since(start))
		}
	})
}

func TestAReaderThatStopsLosesItsPlace(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, s *Server, ln *pipeListener) {
		control := s.cfg.Control.(*fake)
		control.feed = make(chan streamed)
		c := ln.dial()
		open(t, c, "")
		control.feed <- streamed{event(1, "admin", "s"), 0}
		control.feed <- streamed{event(2, "admin", "s"), 0}
		start := time.Now()
		s.streams <- struct{}{} // one of them is free, whatever happens
		for range cap(s.streams) - 1 {
			s.streams <- struct{}{} // the last when the reader's is
		}
		if took := time.Since(start); took != streamTimeout {
			t.Errorf("its place was free after %v", took)
		}
		for range cap(s.streams) {
			<-s.streams
		}
		c.Close()
	})
}

func TestReadersThatDoNotReadHoldUpNobody(t *testing.T) {
	r := begin(t, Config{})
	for range maxStreams {
		c := r.dial()
		c.(*net.TCPConn).SetReadBuffer(4096)
		open(t, c, "")
	}
	big := event(1, "session", "s")
	big.Text = strings.Repeat("x", 1<<20)
	for stuck := false; !stuck; { // each of them, so that the feed is too
		select {
		case r.control.feed <- streamed{big, 0}:
		case <-time.After(200 * time.Millisecond):
			stuck = true
		}
	}
	r.expect(200, "GET", "/api/v1/status", "")
	r.expect(200, "POST", "/api/v1/services/s/resume", "")
}

func TestAStreamEndsWithItsReader(t *testing.T) {
	r := begin(t, Config{})
	open(t, r.dial(), "")
	r.endAll()
}

func TestAStreamThatControlRefusesEnds(t *testing.T) {
	r := begin(t, Config{})
	for _, spoil := range []func(){
		func() { r.control.fault = &api.Fault{Code: api.CodeBusy, Message: "stopping"} },
		func() { r.control.panics = true },
	} {
		r.control.mu.Lock()
		spoil()
		r.control.mu.Unlock()
		if p := r.expect(200, "GET", "/api/v1/events/stream", ""); p.text != "retry: 2000\n\n" {
			t.Errorf("%q", p.text)
		}
	}
}

func TestAStopEndsStreams(t *testing.T) {
	for name, stop := range map[string]func(*Server) error{
		"Close":    (*Server).Close,
		"Shutdown": func(s *Server) error { return s.Shutdown(context.Background()) },
	} {
		r := begin(t, Config{})
		in := open(t, r.dial(), "")
		if err := stop(r.Server); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil && !strings.Contains(fmt.Sprint(err), "reset") {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
}
