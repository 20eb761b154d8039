package postgres

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/probe/probetest"
)

// C27
func TestASSLRequestIsWholeAndEndsInOrder(t *testing.T) {
	seen := make(chan string, 1)
	serve := func(c net.Conn) {
		request := make([]byte, 8)
		io.ReadFull(c, request)
		io.WriteString(c, "N")
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			request = append(append(request, " then "...), rest...)
		}
		seen <- string(request)
	}
	for _, e := range []health.Endpoint{probetest.Serve(t, serve), serveUnix(t, serve)} {
		probetest.Expect(t, probetest.Probe(newProber(t, e, Config{}), 5*time.Second), "")
		if got := <-seen; got != string(sslRequest) {
			t.Errorf("%s: the server saw %q", e.Network, got)
		}
	}
}

func TestWhatDoesNotAnswerAnSSLRequestIsDown(t *testing.T) {
	const long, short = 5 * time.Second, 150 * time.Millisecond
	many := fatal("53300", "sorry, too many clients already")
	tooMany := "postgres ssl request: too many connections: FATAL: sorry, too many clients already (SQLSTATE 53300)"
	for _, c := range []struct {
		name   string
		handle func(net.Conn)
		within time.Duration
		want   string
	}{
		{"an error", probetest.Says(false, many), long, tooMany},
		{"an error and no end", probetest.Says(true, many), long, tooMany},
		{"an error in pieces", byByte(many), long, tooMany},
		{"an error, cut", probetest.Says(false, many[:20]), long, "postgres ssl request: connection closed within an answer"},
		{"an error that does not come", probetest.Says(true, many[:20]), short, "postgres ssl request: no answer in time"},
		{"a long error", probetest.Says(true, "E\x00\x0f\xff\xffSFATAL\x00"), long, `postgres ssl request: not an answer of PostgreSQL: "E\x00\x0f\xff\xffSFATAL\x00"`},
		{"an error of no length", probetest.Says(true, "E\x00\x00\x00\x03abc"), long, `postgres ssl request: not an answer of PostgreSQL: "E\x00\x00\x00\x03abc"`},
		{"an error without a message", probetest.Says(true, message('E', "SFATAL\x00\x00")), long, `postgres ssl request: not an answer of PostgreSQL: "E\x00\x00\x00\fSFATAL\x00\x00"`},
		{"a failed fork", probetest.Says(false, "Ecould not fork new process for connection: Out of memory\n\x00"), long,
			"postgres ssl request: answered an error: could not fork new process for connection: Out of memory"},
		{"memcached", probetest.Says(true, "ERROR\r\n"), long, `postgres ssl request: not an answer of PostgreSQL: "ERROR\r\n"`},
		{"HTTP", probetest.Says(true, "HTTP/1.1 400 Bad Request\r\n"), long, `postgres ssl request: not an answer of PostgreSQL: "HTTP/1.1 400 Bad Request"`},
		{"SSH", probetest.Says(true, "SSH-2.0-OpenSSH_9.9\r\n"), long, `postgres ssl request: not an answer of PostgreSQL: "SSH-2.0-OpenSSH_9.9\r\n"`},
		{"more than N", probetest.Says(true, "NN"), long, `postgres ssl request: not an answer of PostgreSQL: "NN"`},
		{"an end", probetest.Says(false), long, "postgres ssl request: connection closed without an answer"},
		{"silence", probetest.Mute, short, "postgres ssl request: no answer in time"},
		{"TLS offered, not spoken", byByte("Sorry, no TLS"), long, "postgres ssl request: tls: first record does not look like a TLS handshake"},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, Config{}, c.handle, c.within, c.want) })
	}
	says(t, Config{TLS: &tls.Config{}}, probetest.Says(true, "N"), long, "postgres ssl request: it does not speak TLS (ssl = off)")
}

func TestEvidenceIsWhatWasAnswered(t *testing.T) {
	for answer, want := range map[string]string{
		"SSH-2.0-x\r\n": "SSH-2.0-x\r\n",
		fatal("57P03", "the database system is starting up"): "FATAL: the database system is starting up (SQLSTATE 57P03)",
	} {
		for _, c := range []Config{{}, {User: "u"}} {
			var f *health.Failure
			err := probetest.Probe(newProber(t, probetest.Serve(t, probetest.Says(false, answer)), c), 5*time.Second)
			if !errors.As(err, &f) || f.Saw != want {
				t.Errorf("%+v saw %+v, want %q", c, f, want)
			}
		}
	}
}

func FuzzWhatFollowsAnE(f *testing.F) {
	f.Add(fatal("57P03", "the database system is starting up")[1:])
	f.Add("could not fork\n\x00")
	f.Add("\x00\x00\x00\x05\x00")
	f.Fuzz(func(t *testing.T, text string) {
		said, err := readRefusal(bufio.NewReader(strings.NewReader(text)))
		if err == nil && said.message == "" && text[0] == 0 {
			t.Errorf("%q is an error that says nothing", text)
		}
		if err == nil && len(said.severity)+len(said.code)+len(said.message) > len(text) {
			t.Errorf("%q says more than it holds: %+v", text, said)
		}
	})
}
