package mysql

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
)

// real is a greeting of MariaDB 10.11.
const real = "\n5.5.5-10.11.19-MariaDB-0+deb12u1\x00\x06\x00\x00\x00IHmlTC0d\x00\xfe\xf7\x2d\x02\x00\xff\x81\x15" +
	"\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00abcdefghijkl\x00mysql_native_password\x00"

func TestGreetingIsReadToItsEnd(t *testing.T) {
	want := greeting{"5.5.5-10.11.19-MariaDB-0+deb12u1", 0x81fff7fe, "mysql_native_password"}
	if got, err := parseGreeting([]byte(real)); err != nil || got != want {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
	for n := range len(real) - len("mysql_native_password\x00") {
		if _, err := parseGreeting([]byte(real[:n])); !errors.Is(err, errNotMySQL) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
}

func TestWithoutAUserTheGreetingDecides(t *testing.T) {
	blocked := "Host '10.0.0.1' is blocked because of many connection errors; unblock with 'mariadb-admin flush-hosts'"
	old := strings.Replace(greets("3.23.58", "", 0), challenge, "12345678\x00\x00\x00\x00", 1)
	worded, odd := greets("eight", "", 0), greets("8\x1b[2J", "", 0)
	tests := []struct{ name, text, want, saw string }{
		{"MariaDB", packet(0, real), "", ""},
		{"MySQL", hello, "", ""},
		{"no zero at the end", packet(0, strings.TrimSuffix(greets("5.5.8", "mysql_native_password", 0), "\x00")), "", ""},

		{"blocked", packet(0, refuses(1129, blocked)),
			"mysql greeting: this host is blocked after too many connection errors (1129): FLUSH HOSTS unblocks it, checks without a user are a usual cause", blocked},
		{"too many", packet(0, refuses(1040, "#08004Too many connections")),
			"mysql greeting: too many connections (1040): max_connections is used up", "Too many connections"},
		{"not allowed", packet(0, refuses(1130, "Host 'x' is not allowed")),
			"mysql greeting: the server has no user that may log in from this host (1130)", "Host 'x' is not allowed"},
		{"shutdown", packet(0, refuses(1053, "#08S01Server shutdown in progress")),
			"mysql greeting: the server is shutting down (1053)", "Server shutdown in progress"},
		{"another", packet(0, refuses(9999, "#HY000No \x1b[2J")), `mysql greeting: refused (9999): "No \x1b[2J"`, "No \x1b[2J"},

		{"nothing", "", "mysql greeting: connection closed without an answer", ""},
		{"HTTP", "HTTP/1.1 400 Bad Request\r\n", `mysql greeting: not a MySQL greeting: "HTTP/1.1 400 Bad Request"`, "HTTP/1.1 400 Bad Request\r\n"},
		{"SMTP", "220 mail\r\n", `mysql greeting: not a MySQL greeting: "220 mail\r\n"`, "220 mail\r\n"},
		{"TLS", "\x15\x03\x01\x00\x02\x02F", `mysql greeting: not a MySQL greeting: "\x15\x03\x01\x00\x02\x02F"`, "\x15\x03\x01\x00\x02\x02F"},
		{"empty", packet(0, ""), `mysql greeting: not a MySQL greeting: "\x00\x00\x00\x00"`, "\x00\x00\x00\x00"},
		{"another number", packet(1, "\x0a"), `mysql greeting: not a MySQL greeting: "\x01\x00\x00\x01\n"`, "\x01\x00\x00\x01\n"},
		{"16 MB announced", "\xff\xff\xff\x00", `mysql greeting: not a MySQL greeting: "\xff\xff\xff\x00"`, "\xff\xff\xff\x00"},
		{"within the header", "\x10\x00", "mysql greeting: connection closed within the answer", "\x10\x00"},
		{"within the packet", "\x10\x00\x00\x00\x0a8.4", "mysql greeting: connection closed within the answer", "\x10\x00\x00\x00\x0a8.4"},
		{"protocol 9", packet(0, "\x093.20\x00"), `mysql greeting: not a MySQL greeting: "\t3.20\x00"`, "\t3.20\x00"},
		{"no version", packet(0, "\x0a\x00x"), `mysql greeting: not a MySQL greeting: "\n\x00x"`, "\n\x00x"},
		{"a word for a version", packet(0, worded), fmt.Sprintf("mysql greeting: not a MySQL greeting: %q", worded[:junkBytes]), worded},
		{"a version that cannot be shown", packet(0, odd), fmt.Sprintf("mysql greeting: not a MySQL greeting: %q", odd[:junkBytes]), odd},
		{"MySQL 3", packet(0, old), `mysql greeting: not a MySQL greeting: "\n3.23.58\x00\x01\x00\x00\x0012345678\x00\x00\x00"`, old},
		{"cut refusal", packet(0, "\xff\x69"), `mysql greeting: not a MySQL greeting: "\xffi"`, "\xffi"},
		{"cut state", packet(0, "\xff\x69\x04#HY"), `mysql greeting: not a MySQL greeting: "\xffi\x04#HY"`, "\xffi\x04#HY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, closing(tt.text))
			wantFailure(t, probe(newProber(t, s.endpoint, Config{}), patience), tt.want, tt.saw)
		})
	}
}

func TestGreetingInPiecesIsWholeAndEndsInOrder(t *testing.T) {
	s := serve(t, func(_ *fake, c net.Conn) error {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for i := range len(hello) {
			<-tick.C
			if _, err := io.WriteString(c, hello[i:i+1]); err != nil {
				return err
			}
		}
		n, err := io.Copy(io.Discard, c)
		if err == nil && n > 0 {
			return errors.New("something was said")
		}
		return err
	})
	wantFailure(t, probe(newProber(t, s.endpoint, Config{}), patience), "", "")
	if err := s.end(t); err != nil {
		t.Errorf("the server read %v, want an end of stream and nothing else", err)
	}
}

func TestEndlessGreetingIsCutOff(t *testing.T) {
	s := serve(t, func(_ *fake, c net.Conn) error {
		for {
			if _, err := io.WriteString(c, strings.Repeat("x", 1<<10)); err != nil {
				return nil
			}
		}
	})
	begin := time.Now()
	err := probe(newProber(t, s.endpoint, Config{}), time.Minute)
	if err == nil || !strings.HasPrefix(err.Error(), `mysql greeting: not a MySQL greeting: "xxxxxx`) {
		t.Errorf("probe says %v", err)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("it took %v", took)
	}
}

// MariaDB greets before it reads a PROXY header, and judges the client afterwards.
func TestRefusalAfterTheGreetingCountsBehindAPreamble(t *testing.T) {
	const header = "PROXY TCP4 192.0.2.1 127.0.0.1 1 2\r\n"
	tests := []struct{ name, late, want, saw string }{
		{"blocked", packet(1, refuses(1129, "#HY000blocked")),
			"mysql greeting: this host is blocked after too many connection errors (1129): FLUSH HOSTS unblocks it, checks without a user are a usual cause", "blocked"},
		{"not a word", "", "", ""},
		{"junk", "junk", "", ""},
		{"another packet", pong, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(_ *fake, c net.Conn) error {
				if _, err := io.WriteString(c, hello); err != nil {
					return err
				}
				got, err := io.ReadAll(c)
				if err == nil && string(got) != header {
					err = errors.New("it read " + string(got))
				}
				io.WriteString(c, tt.late)
				return err
			})
			s.endpoint.Preamble = []byte(header)
			wantFailure(t, probe(newProber(t, s.endpoint, Config{}), patience), tt.want, tt.saw)
			if err := s.end(t); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestServerThatSaysNothingAfterItsGreetingCostsAMoment(t *testing.T) {
	done := make(chan struct{})
	s := serve(t, func(_ *fake, c net.Conn) error {
		_, err := io.WriteString(c, hello)
		<-done
		return err
	})
	defer close(done)
	s.endpoint.Preamble = []byte("PROXY UNKNOWN\r\n")
	begin := time.Now()
	wantFailure(t, probe(newProber(t, s.endpoint, Config{}), patience), "", "")
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the probe took %v", took)
	}
}

func TestWarningIsForChecksWithoutAUser(t *testing.T) {
	if s := Warning(Config{}); !strings.Contains(s, "1129") || !strings.Contains(s, "check.user") {
		t.Errorf("without a user: %q", s)
	}
	if s := Warning(Config{User: "probe"}); s != "" {
		t.Errorf("with a user: %q", s)
	}
}

func FuzzGreetingIsReadWholeOrRefused(f *testing.F) {
	for _, seed := range []string{"", hello, packet(0, real), packet(0, refuses(1129, "x")), packet(0, refuses(1129, "#HY000x")),
		"HTTP/1.1 400\r\n\r\n", packet(0, "\x0a8\x00"), "\xff\xff\xff\x00", packet(0, "\xff")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		came, err := readGreeting(bufio.NewReader(bytes.NewReader(in)))
		if !bytes.HasPrefix(in, came) {
			t.Fatalf("%q is not what came", came)
		}
		if err != nil {
			if len(in) > 0 && !errors.Is(err, errNotMySQL) && !errors.Is(err, errCut) && !errors.Is(err, health.ErrTooLong) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		g, err := parseGreeting(came[headerBytes:])
		var r refusal
		switch {
		case err == nil && (g.version == "" || g.capabilities&can41 == 0):
			t.Fatalf("%q passed as %+v", in, g)
		case err != nil && !errors.Is(err, errNotMySQL) && !errors.As(err, &r):
			t.Fatalf("%q: %v", in, err)
		}
	})
}
