package health

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func conversation(t testing.TB, e Endpoint, steps ...Step) Prober {
	t.Helper()
	p, err := NewSendExpect(e, SendExpect{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// says answers each line by what the map has for it, and greets; one byte at a time.
func says(greeting string, answers map[string]string) func(net.Conn) error {
	return func(c net.Conn) error {
		slowly := func(s string) {
			for i := range s {
				io.WriteString(c, s[i:i+1])
			}
		}
		slowly(greeting)
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			slowly(answers[lines.Text()])
		}
		return lines.Err()
	}
}

func TestAConversationIsJudgedStepByStep(t *testing.T) {
	smtp := []Step{{Expect: "220 "}, {Send: "EHLO sluice\r\n", Regexp: `(?m)^250 .*\r\n`}, {Send: "QUIT\r\n", Expect: "221 "}}
	redis := []Step{{Send: "PING\r\n", Expect: "+PONG\r\n"}}
	for _, c := range []struct {
		name     string
		steps    []Step
		greeting string
		answers  map[string]string
		want     string
	}{
		{"SMTP", smtp, "220 mx ESMTP\r\n", map[string]string{"EHLO sluice": "250-mx\r\n250-SIZE 1\r\n250 DSN\r\n", "QUIT": "221 bye\r\n"}, ""},
		{"SMTP that turns away", smtp, "554 no\r\n", nil, `send-expect step 1: want "220 ", got "554 no\r\n", then no answer within`},
		{"SMTP that stops", smtp, "220 mx\r\n", map[string]string{"EHLO sluice": "250-mx\r\n"}, `send-expect step 2: want "/(?m)^250 .*\\r\\n/", got "250-mx\r\n", then no answer`},
		{"a text", redis, "", map[string]string{"PING": "+PONG\r\n"}, ""},
		{"another text", redis, "", map[string]string{"PING": "-LOADING\r\n"}, `send-expect: want "+PONG\r\n", got "-LOADING\r\n", then no answer`},
		{"the text within others", []Step{{Expect: "ready"}}, "not yet, not yet, ready now", nil, ""},
		{"only sent", []Step{{Send: "x\n"}}, "", nil, ""},
		{"nothing", redis, "", nil, "send-expect: no answer within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, e := serveTCP(t, says(c.greeting, c.answers))
			err := probe(t, conversation(t, e, c.steps...), 300*time.Millisecond)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("said %v, want %q", err, c.want)
			}
		})
	}
}

func TestAnAnswerThatIsTooLongOrEndsIsAFailure(t *testing.T) {
	endless := func(c net.Conn) error {
		for {
			if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
				return nil
			}
		}
	}
	ends := func(c net.Conn) error {
		io.WriteString(c, "bye")
		c.(*net.TCPConn).CloseWrite()
		return readAll(c)
	}
	for _, c := range []struct {
		step   Step
		handle func(net.Conn) error
		want   string
	}{
		{Step{Expect: "y"}, endless, "then the answer is too long"},
		{Step{Regexp: "y"}, endless, "then the answer is too long"},
		{Step{Expect: "yes"}, ends, `got "bye", then the connection was closed`},
	} {
		_, e := serveTCP(t, c.handle)
		err := probe(t, conversation(t, e, c.step), 5*time.Second)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: said %v, want %q", c.step, err, c.want)
		}
		if f := (*Failure)(nil); !errors.As(err, &f) || f.Saw == "" {
			t.Errorf("%+v: %v keeps nothing of what was seen", c.step, err)
		}
	}
}

func TestAConversationUnderTLS(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	e := Endpoint{Network: "tcp", Address: s.Listener.Addr().String()}
	for cfg, want := range map[*tls.Config]string{{InsecureSkipVerify: true}: "", {}: "send-expect tls: tls: failed to verify certificate"} {
		p, err := NewSendExpect(e, SendExpect{TLS: cfg, Steps: []Step{{Send: "GET /x HTTP/1.0\r\n\r\n", Expect: "404"}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := probe(t, p, 5*time.Second); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("said %v, want %q", err, want)
		}
	}
}

func TestAConversationIsChecked(t *testing.T) {
	for _, steps := range [][]Step{nil, {{}}, {{Expect: "a", Regexp: "a"}}, {{Regexp: "("}}} {
		if _, err := NewSendExpect(Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, SendExpect{Steps: steps}); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", steps, err)
		}
	}
}

// However an answer is cut into pieces, the verdict is the same.
func FuzzAwait(f *testing.F) {
	f.Add("+PO", "+PONG", "", uint8(1))
	f.Add("PONG", "xPONGx", "", uint8(3))
	f.Add("", "250 ok\r\n", "^250 .*\r\n", uint8(2))
	f.Fuzz(func(t *testing.T, want, answer, pattern string, piece uint8) {
		step := Step{Expect: want, Regexp: pattern}
		if pattern != "" {
			step.Expect = ""
		}
		made, err := NewSendExpect(Endpoint{Network: "tcp", Address: "127.0.0.1:1"}, SendExpect{Steps: []Step{step}})
		if err != nil || len(answer) >= patternBytes {
			return
		}
		p := made.(*sendExpect)
		_, whole := p.await(&spoken{rest: answer, piece: len(answer)}, 0)
		_, pieces := p.await(&spoken{rest: answer, piece: max(1, int(piece))}, 0)
		if whole == nil && pieces != nil {
			t.Errorf("%+v is in %q, but not in pieces of %d", step, answer, piece)
		}
		if pattern == "" && (whole == nil) != strings.Contains(answer, want) {
			t.Errorf("%q in %q: %v", want, answer, whole)
		}
	})
}

// spoken is a connection on which something was said.
type spoken struct {
	net.Conn
	rest  string
	piece int
}

func (s *spoken) Read(b []byte) (int, error) {
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(b, s.rest[:min(s.piece, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}
