package mysql

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// secureServer asks for TLS as the protocol has it, gives the answers within, and wants a
// close_notify and an end of stream after it.
func secureServer(t *testing.T, answers ...string) (*fake, *x509.CertPool) {
	t.Helper()
	site := httptest.NewUnstartedServer(nil)
	site.StartTLS()
	site.Close()
	cert := site.TLS.Certificates
	roots := x509.NewCertPool()
	roots.AddCert(site.Certificate())
	greet := packet(0, greets("8.4.2", "caching_sha2_password", canTLS))
	return serve(t, func(s *fake, c net.Conn) error {
		if _, err := io.WriteString(c, greet); err != nil {
			return err
		}
		ask := make([]byte, headerBytes+32)
		if _, err := io.ReadFull(c, ask); err != nil {
			return err
		}
		if length(ask) != 32 || ask[3] != 1 || ask[5]&(canTLS>>8) == 0 {
			return errors.New("it does not ask for TLS")
		}
		below := &noting{Conn: c}
		secure := tls.Server(below, &tls.Config{Certificates: cert})
		r := bufio.NewReader(secure)
		login, err := readPacket(r)
		if err != nil {
			return err
		}
		if login[3] != 2 || string(login[headerBytes:headerBytes+13]) != string(ask[headerBytes:headerBytes+13]) {
			return errors.New("the login does not follow what asked for TLS")
		}
		if err := s.converse(struct {
			io.Reader
			io.Writer
		}{r, secure}, answers); err != nil {
			return err
		}
		if below.ended {
			return errors.New("the stream ended without a close_notify")
		}
		_, err = io.Copy(io.Discard, c)
		return err
	}), roots
}

// noting notes the end of its stream, which crypto/tls takes for one of its own.
type noting struct {
	net.Conn
	ended bool
}

func (c *noting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.ended = c.ended || errors.Is(err, io.EOF)
	return n, err
}

func TestProbeOverTLSChecksTheCertificate(t *testing.T) {
	full := []string{packet(3, "\x01\x04"), packet(5, okay), pong}
	s, roots := secureServer(t, full...)
	tests := []struct {
		name string
		c    *tls.Config
		want string // how the error begins
	}{
		{"trusted", &tls.Config{RootCAs: roots}, ""},
		{"trusted, by name", &tls.Config{RootCAs: roots, ServerName: "example.com"}, ""},
		{"insecure", &tls.Config{InsecureSkipVerify: true}, ""},
		{"unknown", &tls.Config{RootCAs: x509.NewCertPool()}, "mysql tls: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"another name", &tls.Config{RootCAs: roots, ServerName: "b.test"}, "mysql tls: tls: failed to verify certificate: x509: certificate is valid for "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := user
			c.TLS = tt.c
			err := probe(newProber(t, s.endpoint, c), patience)
			end := s.end(t)
			if tt.want != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("probe says %v, want %q", err, tt.want)
				}
				return
			}
			wantFailure(t, err, "", "")
			if end != nil {
				t.Errorf("the server read %v, want close_notify and an end of stream", end)
			}
			got := s.heard()
			if want := []string{"sesame\x00", comPing, comQuit}; strings.Join(got[len(got)-3:], "|") != strings.Join(want, "|") {
				t.Errorf("it heard %q, want %q", got, want)
			}
		})
	}
}

func TestRefusalOverTLSIsNamed(t *testing.T) {
	s, roots := secureServer(t, packet(3, refuses(1045, "#28000denied")))
	c := user
	c.TLS = &tls.Config{RootCAs: roots}
	wantFailure(t, probe(newProber(t, s.endpoint, c), patience),
		"mysql login: wrong user or password, or not from this host (1045): see check.user and check.password", "denied")
}

func TestTLSIsNeverGivenUp(t *testing.T) {
	offers := packet(0, greets("8.4.2", "mysql_native_password", canTLS))
	tests := []struct {
		name    string
		answers []string
		want    string
	}{
		{"not offered", []string{hello}, "mysql tls: the server offers no TLS: it has no certificate, or it is turned off"},
		{"answered in plain text", []string{offers + welcome, pong}, "mysql tls: unencrypted bytes where TLS should begin"},
		{"closed", []string{offers, ""}, "mysql tls: connection closed without an answer"},
		{"junk", []string{offers, "no TLS here"}, "mysql tls: tls: first record does not look like a TLS handshake"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, func(s *fake, c net.Conn) error {
				c.(*net.TCPConn).SetNoDelay(true)
				return closing(tt.answers...)(s, c)
			})
			c := user
			c.TLS = &tls.Config{InsecureSkipVerify: true}
			wantFailure(t, probe(newProber(t, s.endpoint, c), patience), tt.want, "")
			for _, heard := range s.heard() {
				if strings.Contains(heard, "probe") {
					t.Errorf("it heard %q", heard)
				}
			}
		})
	}
}

func TestMuteTLSEndsWithTheDeadline(t *testing.T) {
	s := serve(t, func(_ *fake, c net.Conn) error {
		io.WriteString(c, packet(0, greets("8.4.2", "", canTLS)))
		_, err := io.Copy(io.Discard, c)
		return err
	})
	c := user
	c.TLS = &tls.Config{InsecureSkipVerify: true}
	wantFailure(t, probe(newProber(t, s.endpoint, c), 300*time.Millisecond), "mysql tls: no answer in time", "")
}
