package health

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func newSendExpect(t *testing.T, e Endpoint, tls *tls.Config, steps ...Step) Prober {
	t.Helper()
	p, err := NewSendExpect(e, SendExpect{Steps: steps, TLS: tls})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// turnOf is a backend's side of a conversation: it waits for a text and says what it has
// to, one write for each piece and a moment between two.
type turnOf struct {
	wait string
	say  []string
}

// conversing starts a backend that keeps to its turns, then reads to the end of stream; or
// ends the stream after them.
func conversing(t *testing.T, end bool, turns ...turnOf) (*testBackend, Endpoint) {
	t.Helper()
	return serveTCP(t, func(c net.Conn) error {
		for _, turn := range turns {
			got := make([]byte, len(turn.wait))
			if _, err := io.ReadFull(c, got); err != nil || string(got) != turn.wait {
				return fmt.Errorf("got %q (%v), want %q", got, err, turn.wait)
			}
			for i, s := range turn.say {
				if i > 0 {
					<-time.After(5 * time.Millisecond)
				}
				if _, err := io.WriteString(c, s); err != nil {
					return err
				}
			}
		}
		if end {
			c.(*net.TCPConn).CloseWrite()
		}
		return readAll(c)
	})
}

func says(pieces ...string) turnOf { return turnOf{"", pieces} }

func TestSendExpectJudgesTheAnswer(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	ping := Step{Send: "PING\r\n", Expect: "+PONG"}
	tests := []struct {
		name   string
		step   Step
		answer turnOf
		reason string // of a stream that ends after the answer
	}{
		{"as wanted", ping, turnOf{"PING\r\n", []string{"+PONG\r\n"}}, ""},
		{"further in", ping, turnOf{"PING\r\n", []string{"$9\r\nrole:master\r\n+PONG\r\n"}}, ""},
		{"in pieces", ping, turnOf{"PING\r\n", []string{"+", "PO", "N", "G"}}, ""},
		{"begun twice", Step{Expect: "aab"}, says("aa", "ab"), ""},
		{"banner", Step{Expect: "SSH-2.0-"}, says("SSH-2.0-x\r\n"), ""},
		{"binary", Step{Send: "\x00\x01", Expect: "\x00\xff\xfe"}, turnOf{"\x00\x01", []string{"a\x00\xff", "\xfeb"}}, ""},
		{"send alone", Step{Send: "hello"}, turnOf{wait: "hello"}, ""},
		{"regexp", Step{Regexp: `^\+(PONG|OK)\r\n`}, says("+P", "ONG\r", "\n"), ""},
		{"regexp over lines", Step{Regexp: `(?m)^250 `}, says("250-a\r\n250-b\r\n", "250 c\r\n"), ""},
		{"at the bound", Step{Expect: "abc"}, says(long[:64<<10-3] + "abc"), ""},

		{"something else", ping, turnOf{"PING\r\n", []string{"-LOADING Redis is loading the dataset in memory\r\n"}},
			`send-expect: want "+PONG", got "-LOADING Redis is loading the dataset in memor..." and then the connection closed`},
		{"nothing", ping, turnOf{wait: "PING\r\n"}, `send-expect: want "+PONG": connection closed without an answer`},
		{"a part", ping, turnOf{"PING\r\n", []string{"+PON"}}, `send-expect: want "+PONG", got "+PON" and then the connection closed`},
		{"case", ping, turnOf{"PING\r\n", []string{"+pong"}}, `send-expect: want "+PONG", got "+pong" and then the connection closed`},
		{"not at the beginning", Step{Regexp: `^OK`}, says("NOT OK"), "send-expect: want a match of `^OK`, got \"NOT OK\" and then the connection closed"},
		{"past the bound", Step{Expect: "abc"}, says(long[:64<<10-2] + "abc"), `send-expect: want "abc", got "` + long[:46] + `..." and then no match within 64 KB`},
		{"regexp past the bound", Step{Regexp: "a.c"}, says(long + "abc"), "send-expect: want a match of `a.c`, got \"" + long[:46] + `..." and then no match within 64 KB`},
		{"long and binary", Step{Expect: strings.Repeat("\x00", 99)}, says(strings.Repeat("\x00", 98)),
			`send-expect: want "` + strings.Repeat(`\x00`, 11) + `...", got "` + strings.Repeat(`\x00`, 11) + `..." and then the connection closed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, endpoint := conversing(t, true, tt.answer)
			wantReason(t, probe(t, newSendExpect(t, endpoint, nil, tt.step), 5*time.Second), tt.reason)
		})
	}
}

var smtp = []Step{
	{Expect: "220 "},
	{Send: "EHLO sluice\r\n", Expect: "250 "},
	{Send: "QUIT\r\n", Expect: "221 "},
}

func TestSendExpectStepsAreTakenInOrder(t *testing.T) {
	bye := turnOf{"QUIT\r\n", []string{"221 bye\r\n"}}
	tests := []struct {
		name   string
		steps  []Step
		turns  []turnOf
		reason string
	}{
		{"smtp", smtp, []turnOf{says("220 mail\r\n"), {"EHLO sluice\r\n", []string{"250-a\r\n", "250 b\r\n"}}, bye}, ""},
		{"smtp, later banner", smtp, []turnOf{says("220-hello\r\n", "220 mail\r\n"), {"EHLO sluice\r\n", []string{"250 b\r\n"}}, bye}, ""},
		{"smtp, second refused", smtp, []turnOf{says("220 mail\r\n"), {"EHLO sluice\r\n", []string{"421 too many\r\n"}}},
			`send-expect step 2: want "250 ", got "421 too many\r\n" and then the connection closed`},
		{"smtp, first refused", smtp, []turnOf{says("554 no\r\n")},
			`send-expect step 1: want "220 ", got "554 no\r\n" and then the connection closed`},
		{"what one segment brought is read on", []Step{{Expect: "220-"}, {Expect: "220 "}, {Regexp: "^mail"}}, []turnOf{says("220-hello\r\n220 mail\r\n")}, ""},
		{"what was matched is behind", []Step{{Expect: "ab"}, {Expect: "ab"}}, []turnOf{says("aab")},
			`send-expect step 2: want "ab": connection closed without an answer`},
		{"what was said before is no answer", []Step{{Expect: "+OK\r\n"}, {Send: "PING\r\n", Expect: "+PONG"}},
			[]turnOf{says("+OK\r\n+PONG\r\n"), {"PING\r\n", []string{"-ERR"}}},
			`send-expect step 2: want "+PONG", got "-ERR" and then the connection closed`},
		{"a send between does not forget for the next but one", []Step{{Expect: "+OK\r\n"}, {Send: "x"}, {Regexp: "^y"}},
			[]turnOf{says("+OK\r\nz"), {"x", []string{"y"}}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, endpoint := conversing(t, true, tt.turns...)
			wantReason(t, probe(t, newSendExpect(t, endpoint, nil, tt.steps...), 5*time.Second), tt.reason)
			if err := b.end(t); err != nil {
				t.Errorf("the backend read %v, want an end of stream", err)
			}
		})
	}
}

func TestSendExpectKeepsWhatItSaw(t *testing.T) {
	tests := []struct{ answer, saw string }{
		{"", ""},
		{"-ERR\r\nno\x00\xff", "-ERR\r\nno\x00\xff"},
		{strings.Repeat("y", 10<<10), strings.Repeat("y", 4<<10)},
	}
	for _, tt := range tests {
		_, endpoint := conversing(t, true, says(tt.answer))
		err := probe(t, newSendExpect(t, endpoint, nil, Step{Expect: "+PONG"}), 5*time.Second)
		if f := (*Failure)(nil); !errors.As(err, &f) || f.Step != "send-expect" || f.Saw != tt.saw {
			t.Errorf("probe says %v, want what it saw", err)
		}
	}
}

func TestSendExpectHasOneDeadlineOverAllSteps(t *testing.T) {
	tests := []struct {
		name, reason string
		turns        []turnOf
	}{
		{"mute", `send-expect step 1: want "220 ": no answer within 300ms`, nil},
		{"wrong", `send-expect step 1: want "220 ", got "-LOADING" and then no answer within 300ms`, []turnOf{says("-LOADING")}},
		{"mute in the second", `send-expect step 2: want "250 ": no answer within 300ms`, []turnOf{says("220 mail\r\n")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, endpoint := conversing(t, false, tt.turns...)
			err := probe(t, newSendExpect(t, endpoint, nil, smtp...), 300*time.Millisecond)
			wantReason(t, err, tt.reason)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is not the deadline", err)
			}
		})
	}
}

func TestSendExpectEndsWhenABackendDoesNotRead(t *testing.T) {
	has := make(chan struct{})
	_, endpoint := serveTCP(t, func(net.Conn) error {
		<-has
		return nil
	})
	p := newSendExpect(t, endpoint, nil, Step{Send: strings.Repeat("x", 32<<20), Expect: "y"})
	wantReason(t, probe(t, p, 300*time.Millisecond), "send-expect: sending: no answer within 300ms")
	close(has)
}

func TestSendExpectOfEndlessAnswerIsCutOff(t *testing.T) {
	_, endpoint := serveTCP(t, func(c net.Conn) error {
		for {
			if _, err := io.WriteString(c, "more and "); err != nil {
				return nil
			}
		}
	})
	p := newSendExpect(t, endpoint, nil, Step{Regexp: "(more|and)+ no"})
	wantReason(t, probe(t, p, 30*time.Second), "send-expect: want a match of `(more|and)+ no`, "+
		`got "more and more and more and more and more and m..." and then no match within 64 KB`)
}

func TestSendExpectDoesNotWaitForTheEndOfStreamAfterAMatch(t *testing.T) {
	b, endpoint := conversing(t, false, turnOf{"PING\r\n", []string{"+PONG\r\n"}})
	p := newSendExpect(t, endpoint, nil, Step{Send: "PING\r\n", Expect: "+PONG\r\n"})
	for range 10 {
		wantReason(t, probe(t, p, 5*time.Second), "")
		if err := b.end(t); err != nil {
			t.Fatalf("the backend read %v, want an end of stream", err)
		}
	}
}

func TestStoppedSendExpectReturns(t *testing.T) {
	has := make(chan struct{})
	_, endpoint := serveTCP(t, func(c net.Conn) error {
		close(has)
		return readAll(c)
	})
	if err := cancelled(t, newSendExpect(t, endpoint, nil, smtp...), has); !errors.Is(err, context.Canceled) {
		t.Errorf("probe says %v", err)
	}
}

func TestSendExpectOfADeadPortIsRefused(t *testing.T) {
	err := probe(t, newSendExpect(t, Endpoint{Network: "tcp", Address: deadAddress(t)}, nil, smtp...), 5*time.Second)
	wantReason(t, err, "connect: connection refused")
}

func TestSendExpectOverAUnixSocketAfterAPreamble(t *testing.T) {
	const header = "PROXY UNKNOWN\r\n"
	_, endpoint := serveUnix(t, func(c net.Conn) error {
		r := bufio.NewReader(c)
		line, _ := r.ReadString('\n')
		ask, _ := r.ReadString('\n')
		_, err := fmt.Fprintf(c, "%s%s", line, ask)
		return err
	})
	endpoint.Preamble = []byte(header)
	p := newSendExpect(t, endpoint, nil, Step{Send: "PING\r\n", Expect: header + "PING\r\n"})
	wantReason(t, probe(t, p, 5*time.Second), "")
}

func TestSendExpectThatCannotWorkIsRefused(t *testing.T) {
	tests := []struct {
		reason string
		steps  []Step
	}{
		{"send-expect without a step", nil},
		{"send-expect: nothing to send and nothing to expect", []Step{{}}},
		{"send-expect step 2: nothing to send and nothing to expect", []Step{{Expect: "x"}, {}}},
		{"send-expect: a text and a regular expression, want one of them", []Step{{Expect: "x", Regexp: "x"}}},
		{"send-expect: expects 65537 bytes, want at most 65536", []Step{{Expect: strings.Repeat("x", 64<<10+1)}}},
		{"send-expect: error parsing regexp: missing closing ): `(`", []Step{{Regexp: "("}}},
		{"send-expect: the regular expression `(OK)?` matches no answer at all", []Step{{Regexp: "(OK)?"}}},
	}
	for _, tt := range tests {
		p, err := NewSendExpect(Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, SendExpect{Steps: tt.steps})
		if !errors.Is(err, ErrConfig) || p != nil {
			t.Fatalf("%v: %v, want ErrConfig", tt.steps, err)
		}
		wantReason(t, err, ErrConfig.Error()+": "+tt.reason)
	}
}

func TestSendExpectUnderTLS(t *testing.T) {
	site, _ := secureSite(t, func(http.ResponseWriter, *http.Request) {})
	server := &tls.Config{Certificates: site.TLS.Certificates}
	b, endpoint := serveTCP(t, func(c net.Conn) error {
		secure := tls.Server(c, server)
		if err := secure.Handshake(); err != nil {
			return nil
		}
		io.WriteString(secure, "220 mail\r\n")
		if err := readAll(secure); err != nil { // ErrUnexpectedEOF without a close_notify
			return err
		}
		return readAll(c)
	})
	insecure := &tls.Config{InsecureSkipVerify: true}
	wantReason(t, probe(t, newSendExpect(t, endpoint, insecure, Step{Expect: "220 "}), 5*time.Second), "")
	if err := b.end(t); err != nil {
		t.Errorf("the backend read %v, want close_notify and an end of stream", err)
	}
	err := probe(t, newSendExpect(t, endpoint, &tls.Config{}, Step{Expect: "220 "}), 5*time.Second)
	if err == nil || !strings.HasPrefix(err.Error(), "send-expect tls: tls: failed to verify certificate") {
		t.Errorf("probe says %v", err)
	}
}
