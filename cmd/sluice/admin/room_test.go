package admin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const question = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

// askOn sends text and returns the answer, and how long it took.
func askOn(t *testing.T, c net.Conn, text string) (reply, time.Duration) {
	t.Helper()
	start := time.Now()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	p := readReply(t, bufio.NewReader(c))
	return p, time.Since(start)
}

func TestASilentClientIsClosedAfterTheHeaderTimeout(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, _ *Server, ln *pipeListener) {
		start := time.Now()
		if got := ended(ln.dial()); got != "" || time.Since(start) != headerTimeout {
			t.Errorf("%q after %v", got, time.Since(start))
		}
	})
}

func TestASlowHeaderIsNotWaitedFor(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, _ *Server, ln *pipeListener) {
		c, start := ln.dial(), time.Now()
		io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: x\r\n", i); err != nil {
				break
			}
			time.Sleep(300 * time.Millisecond)
		}
		if took := time.Since(start); took < headerTimeout || took > headerTimeout+300*time.Millisecond {
			t.Errorf("closed after %v", took)
		}
		c.Close()
	})
}

func TestASlowBodyIsNotWaitedFor(t *testing.T) {
	control := newFake()
	inBubble(t, Config{Control: control}, func(t *testing.T, _ *Server, ln *pipeListener) {
		for _, encoding := range []string{"Content-Length: 100\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
			c := ln.dial()
			p, took := askOn(t, c, "PUT "+b1+"/admin HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+encoding)
			if p.status != 408 || took != bodyTimeout || !strings.Contains(p.text, "body too slow: want it within 10s") {
				t.Errorf("%d after %v: %s", p.status, took, p.text)
			}
			c.Close()
		}
	})
	if calls := control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
}

func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	inBubble(t, Config{Token: "x"}, func(t *testing.T, _ *Server, ln *pipeListener) {
		for _, to := range []string{"PUT " + b1 + "/admin", "POST /api/v1/plan", "GET /api/v1/status", "POST /healthz", "POST //"} {
			c, start := ln.dial(), time.Now()
			p, took := askOn(t, c, to+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
			if p.status < 400 || took != 0 {
				t.Errorf("%s: %d after %v", to, p.status, took)
			}
			if ended(c); time.Since(start) > 2*lingerTimeout {
				t.Errorf("%s: open for %v more", to, time.Since(start))
			}
		}
	})
}

func TestAnIdleClientIsClosed(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, _ *Server, ln *pipeListener) {
		c := ln.dial()
		askOn(t, c, question)
		start := time.Now()
		if ended(c); time.Since(start) != idleTimeout {
			t.Errorf("closed after %v", time.Since(start))
		}
	})
}

func TestAnAnswerThatIsNotReadIsGivenUp(t *testing.T) {
	inBubble(t, Config{Connections: 1}, func(t *testing.T, _ *Server, ln *pipeListener) {
		deaf, start := ln.dial(), time.Now()
		if _, err := io.WriteString(deaf, question); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // so that it is first
		c := ln.dial()
		if _, took := askOn(t, c, question); time.Since(start) > answerTimeout+time.Second {
			t.Errorf("kept another out for %v", took)
		}
		c.Close()
		deaf.Close()
	})
}

func TestOneWhoReadsNoAnswersGivesWaySoon(t *testing.T) {
	inBubble(t, Config{Connections: 3}, func(t *testing.T, _ *Server, ln *pipeListener) {
		var deaf []net.Conn
		for range 3 {
			c := ln.dial()
			if _, err := io.WriteString(c, strings.Repeat(question, 3)); err != nil { // they keep asking
				t.Fatal(err)
			}
			deaf = append(deaf, c)
		}
		time.Sleep(100 * time.Millisecond)
		c := ln.dial()
		if p, took := askOn(t, c, question); p.status != 200 || took != stuckGrace-100*time.Millisecond {
			t.Errorf("%d after %v", p.status, took)
		}
		c.Close()
		for _, c := range deaf {
			c.Close()
		}
	})
}

func TestAFullRoomMakesTheQuietestGiveWay(t *testing.T) {
	inBubble(t, Config{Connections: 3}, func(t *testing.T, _ *Server, ln *pipeListener) {
		first := ln.dial() // and never says a word
		time.Sleep(100 * time.Millisecond)
		second := ln.dial()
		if _, took := askOn(t, second, question); took != 0 {
			t.Errorf("took %v", took)
		}
		third := ln.dial()
		fourth := ln.dial()
		if _, took := askOn(t, fourth, question); took != quietGrace-100*time.Millisecond {
			t.Errorf("the fourth waited %v", took)
		}
		if got := ended(first); got != "" {
			t.Errorf("the quietest got %q", got)
		}
		for _, c := range []net.Conn{second, third} {
			if p, took := askOn(t, c, question); p.status != 200 || took != 0 {
				t.Errorf("%d after %v", p.status, took)
			}
		}
		for _, c := range []net.Conn{second, third, fourth} {
			c.Close()
		}
	})
}

func TestAFullRoomWaitsForThoseThatAreServed(t *testing.T) {
	control := newFake()
	inBubble(t, Config{Control: control, Connections: 1}, func(t *testing.T, _ *Server, ln *pipeListener) {
		control.entered, control.release = make(chan struct{}), make(chan struct{}) // in the bubble: it waits on them
		busy := ln.dial()
		io.WriteString(busy, "POST /api/v1/reload HTTP/1.1\r\nHost: x\r\n\r\n")
		<-control.entered
		go func() {
			time.Sleep(7 * time.Second)
			close(control.release)
			readReply(t, bufio.NewReader(busy))
		}()
		c := ln.dial()
		if p, took := askOn(t, c, question); p.status != 200 || took != 7*time.Second+quietGrace {
			t.Errorf("%d after %v", p.status, took)
		}
		c.Close()
		busy.Close()
	})
}

func TestOneThatWaitsForAPlaceDoesNotHoldUpAShutdown(t *testing.T) {
	for name, stop := range map[string]func(*Server) error{
		"Close":    (*Server).Close,
		"Shutdown": func(s *Server) error { return s.Shutdown(context.Background()) },
	} {
		inBubble(t, Config{Connections: 1}, func(t *testing.T, s *Server, ln *pipeListener) {
			a := ln.dial()
			b := ln.dial()
			start := time.Now()
			if err := stop(s); err != nil || time.Since(start) >= time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
			ended(a)
			ended(b)
		})
	}
}

func TestNothingIsDoneForAClientThatGaveWay(t *testing.T) {
	s, err := New(Config{Control: newFake()})
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	r := httptest.NewRequest("POST", "/api/v1/reload", nil)
	r = r.WithContext(withConn(r.Context(), &conn{Conn: there, room: s.room, evicted: true}))
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("panicked with %v", p)
		}
	}()
	s.serveHTTP(httptest.NewRecorder(), r)
	t.Error("it was served")
}

func TestSlowBodiesKeepNobodyOut(t *testing.T) {
	control := newFake()
	inBubble(t, Config{Control: control, Connections: 2}, func(t *testing.T, _ *Server, ln *pipeListener) {
		const start = "PUT " + b1 + "/admin HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
		var slow []net.Conn
		for range 6 {
			c := ln.dial()
			slow = append(slow, c)
			go io.WriteString(c, start)
		}
		c := ln.dial()
		if p, took := askOn(t, c, question); p.status != 200 || took > headerTimeout {
			t.Errorf("%d after %v", p.status, took)
		}
		for _, c := range append(slow, c) {
			c.Close()
		}
	})
	if calls := control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
}

func TestTwoHundredSilentClientsKeepNobodyOut(t *testing.T) {
	r := begin(t, Config{})
	for range 200 {
		r.dial()
	}
	start := time.Now()
	r.expect(200, "GET", "/healthz", "")
	if took := time.Since(start); took > headerTimeout {
		t.Errorf("kept out for %v", took)
	}
	r.room.mu.Lock()
	defer r.room.mu.Unlock()
	if n := len(r.room.conns); n > maxConnections {
		t.Errorf("%d connections are open", n)
	}
}

func TestManyClientsShareAFewPlaces(t *testing.T) {
	r := begin(t, Config{Connections: 4})
	done := make(chan error, 60)
	for range cap(done) {
		go func() {
			p, err := r.client.Get("http://" + r.address + "/api/v1/status")
			if err == nil {
				_, err = io.Copy(io.Discard, p.Body)
				p.Body.Close()
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
