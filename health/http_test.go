package health

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func newHTTP(t *testing.T, endpoint Endpoint, h HTTP) Prober {
	t.Helper()
	p, err := NewHTTP(endpoint, h)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// site starts an HTTP server and returns its endpoint.
func site(t *testing.T, h http.HandlerFunc) Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Endpoint{Network: "tcp", Address: s.Listener.Addr().String()}
}

// answering starts a backend that reads one request, writes answer, and reads on to the
// end of stream; or ends the stream after its answer, with then nil.
func answering(t *testing.T, answer string, then func(net.Conn) error) (*testBackend, Endpoint) {
	t.Helper()
	return serveTCP(t, func(c net.Conn) error {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return err
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return err
		}
		if then == nil {
			c.(*net.TCPConn).CloseWrite()
			then = readAll
		}
		return then(c)
	})
}

func TestHTTPProbeJudgesTheStatus(t *testing.T) {
	tests := []struct {
		status int
		want   string // of the configuration
		reason string
	}{
		{200, "", ""},
		{204, "", ""},
		{302, "", ""},
		{399, "", ""},
		{400, "", "http: status 400, want 200-399"},
		{503, "", "http: status 503, want 200-399"},
		{503, "503", ""},
		{200, "503", "http: status 200, want 503"},
		{301, "200,204,301-302", ""},
		{303, "200,204,301-302", "http: status 303, want 200,204,301-302"},
		{599, "100-599", ""},
	}
	for _, tt := range tests {
		endpoint := site(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tt.status)
		})
		var h HTTP
		if tt.want != "" {
			var err error
			if h.Status, err = ParseStatus(tt.want); err != nil {
				t.Fatal(err)
			}
		}
		wantReason(t, probe(t, newHTTP(t, endpoint, h), 5*time.Second), tt.reason)
	}
}

func TestHTTPProbeAsksWhatItWasTold(t *testing.T) {
	tests := []struct {
		name                      string
		h                         HTTP
		method, uri, host, length string
	}{
		{"defaults", HTTP{}, "GET", "/", "", ""},
		{"all", HTTP{Method: "HEAD", Path: "/health?deep=1&x=a%20b", Host: "b1.example:8080"},
			"HEAD", "/health?deep=1&x=a%20b", "b1.example:8080", ""},
		{"options", HTTP{Method: "OPTIONS", Host: "b1.example"}, "OPTIONS", "/", "b1.example", ""},
		{"post", HTTP{Method: "POST", Path: "/ping"}, "POST", "/ping", "", "0"},
		{"space", HTTP{Path: "/a b"}, "GET", "/a%20b", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan *http.Request, 1)
			endpoint := site(t, func(w http.ResponseWriter, r *http.Request) { got <- r })
			if tt.host == "" {
				tt.host = endpoint.Address
			}
			wantReason(t, probe(t, newHTTP(t, endpoint, tt.h), 5*time.Second), "")
			r := <-got
			if r.Method != tt.method || r.RequestURI != tt.uri || r.Host != tt.host ||
				r.Header.Get("Content-Length") != tt.length {
				t.Errorf("asked %s %s of %s, length %q", r.Method, r.RequestURI, r.Host, r.Header.Get("Content-Length"))
			}
			if !r.Close || r.UserAgent() != "sluice-health" {
				t.Errorf("close %v, user agent %q", r.Close, r.UserAgent())
			}
		})
	}
}

func TestHTTPProbeThatCannotWorkIsRefused(t *testing.T) {
	endpoint := Endpoint{Network: "tcp", Address: "127.0.0.1:80"}
	tests := []struct {
		endpoint Endpoint
		h        HTTP
	}{
		{endpoint, HTTP{Path: "health"}},
		{endpoint, HTTP{Path: "/a\nX-Smuggled: 1"}},
		{endpoint, HTTP{Path: "/%zz"}},
		{endpoint, HTTP{Method: "GET /"}},
		{endpoint, HTTP{Host: "a\r\nX-Smuggled: 1"}},
		{endpoint, HTTP{Host: "a b"}},
		{endpoint, HTTP{Status: []StatusRange{{399, 200}}}},
		{endpoint, HTTP{Status: []StatusRange{{200, 600}}}},
		{endpoint, HTTP{Status: []StatusRange{{}}}},
		{Endpoint{Network: "tcp", Address: "127.0.0.1"}, HTTP{}},
	}
	for _, tt := range tests {
		if p, err := NewHTTP(tt.endpoint, tt.h); !errors.Is(err, ErrConfig) || p != nil {
			t.Errorf("%+v of %q: %v, want ErrConfig", tt.h, tt.endpoint.Address, err)
		}
	}
}

func TestHTTPProbeNamesWhatIsWrongWithAnAnswer(t *testing.T) {
	tests := []struct{ name, answer, want string }{
		{"nothing", "", "http: connection closed without an answer"},
		{"another protocol", "SSH-2.0-OpenSSH_9.9 and more of it\r\n", `http: not an HTTP answer: "SSH-2.0-OpenSSH_9.9 and "`},
		{"binary", "\x15\x03\x01\x00\x02\x02F", `http: not an HTTP answer: "\x15\x03\x01\x00\x02\x02F"`},
		{"short", "-ER", `http: not an HTTP answer: "-ER"`},
		{"no status", "HTTP/1.1 abc\r\n\r\n", `http: not a valid answer: malformed HTTP status code "abc"`},
		{"status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", `http: not a valid answer: malformed HTTP status code "2000"`},
		{"within the status line", "HTTP/1.1 20", `http: not a valid answer: malformed HTTP status code "20"`},
		{"within the name", "HTT", `http: not a valid answer: malformed HTTP response "HTT"`},
		{"within the header", "HTTP/1.1 200 OK\r\nServer: x", "http: connection closed within the header"},
		{"within the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "http: status 200, but the connection closed within the body"},
		{"within a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "http: status 200, but the connection closed within the body"},
		{"endless interim answers", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 2000), "http: header of the answer exceeds 64 KB"},
		{"long header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10), "http: header of the answer exceeds 64 KB"},
		{"bad status with a cut body", "HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\n", "http: status 500, want 200-399"},

		{"interim answers first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", ""},
		{"body until the end of stream", "HTTP/1.0 200 OK\r\n\r\nabc", ""},
		{"long body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 70<<10), ""},
		{"many chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 20000), ""},
		{"whole", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, endpoint := answering(t, tt.answer, nil)
			wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 5*time.Second), tt.want)
		})
	}
}

func TestHTTPProbeDoesNotWaitForTheEndOfStreamAfterAWholeAnswer(t *testing.T) {
	b, endpoint := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", readAll)
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 5*time.Second), "")
	if err := b.end(t); err != nil {
		t.Errorf("the backend read %v, want an end of stream", err)
	}
}

func TestHTTPProbeOfABadStatusEndsInOrderToo(t *testing.T) {
	b, endpoint := answering(t, "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", readAll)
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 5*time.Second), "http: status 503, want 200-399")
	if err := b.end(t); err != nil {
		t.Errorf("the backend read %v, want an end of stream", err)
	}
}

func TestOneDeadlineHoldsForEveryPartOfAnAnswer(t *testing.T) {
	drip := func(s string) func(c net.Conn) error {
		return func(c net.Conn) error {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for range tick.C {
				if _, err := io.WriteString(c, s); err != nil {
					return nil
				}
			}
			return nil
		}
	}
	tests := []struct {
		name, answer string
		then         func(net.Conn) error
		want         string
	}{
		{"mute", "", readAll, "http: no answer within 500ms"},
		{"within the status line", "HTTP/1.1", readAll, "http: no answer within 500ms"},
		{"within the header", "HTTP/1.1 200 OK\r\n", readAll, "http: no answer within 500ms"},
		{"dripping header", "HTTP/1.1 200 OK\r\n", drip("A: b\r\n"), "http: no answer within 500ms"},
		{"slow body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", drip("x"), "http: status 200, but the body: no answer within 500ms"},
		{"bad status with a slow body", "HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n", drip("x"), "http: status 500, want 200-399"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, endpoint := answering(t, tt.answer, tt.then)
			wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 500*time.Millisecond), tt.want)
		})
	}
}

func TestEndlessHeaderIsCutOff(t *testing.T) {
	_, endpoint := answering(t, "HTTP/1.1 200 OK\r\n", func(c net.Conn) error {
		for {
			if _, err := io.WriteString(c, "X-More: yes\r\n"); err != nil {
				return nil
			}
		}
	})
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 30*time.Second), "http: header of the answer exceeds 64 KB")
}

func TestHTTPProbeFollowsNoRedirectAndAsksNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://"+deadAddress(t))
	t.Setenv("http_proxy", "http://"+deadAddress(t))
	visits := make(chan string, 10)
	endpoint := site(t, func(w http.ResponseWriter, r *http.Request) {
		visits <- r.URL.Path
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{Host: "b1.example"}), 5*time.Second), "")
	if len(visits) != 1 || <-visits != "/" {
		t.Error("the redirect was followed")
	}
}

func TestHTTPProbeOverAUnixSocket(t *testing.T) {
	got := make(chan string, 1)
	_, endpoint := serveUnix(t, func(c net.Conn) error {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return err
		}
		got <- r.Host
		_, err = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		return err
	})
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 5*time.Second), "")
	if host := <-got; host != "localhost" {
		t.Errorf("asked for host %q, want localhost", host)
	}
}

func TestPreambleArrivesBeforeTheRequest(t *testing.T) {
	const header = "PROXY UNKNOWN\r\n"
	got := make(chan string, 1)
	_, endpoint := serveTCP(t, func(c net.Conn) error {
		r := bufio.NewReader(c)
		line, _ := r.ReadString('\n')
		got <- line
		if _, err := http.ReadRequest(r); err != nil {
			return err
		}
		_, err := io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		return err
	})
	endpoint.Preamble = []byte(header)
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{}), 5*time.Second), "")
	if s := <-got; s != header {
		t.Errorf("first line is %q, want %q", s, header)
	}
}

func TestHTTPProbeOfADeadPortIsRefused(t *testing.T) {
	p := newHTTP(t, Endpoint{Network: "tcp", Address: deadAddress(t)}, HTTP{})
	if err := probe(t, p, 5*time.Second); err == nil || !strings.HasPrefix(err.Error(), "connect: ") {
		t.Errorf("probe says %v", err)
	}
}

func TestStoppedHTTPProbeReturns(t *testing.T) {
	has := make(chan struct{})
	_, endpoint := answering(t, "", func(c net.Conn) error {
		close(has)
		return readAll(c)
	})
	if err := cancelled(t, newHTTP(t, endpoint, HTTP{}), has); !errors.Is(err, context.Canceled) {
		t.Errorf("probe says %v", err)
	}
}

// secureSite starts an HTTPS server; its certificate is for example.com and 127.0.0.1.
func secureSite(t *testing.T, h http.HandlerFunc) (*httptest.Server, Endpoint) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s, Endpoint{Network: "tcp", Address: u.Host}
}

func TestHTTPSProbeChecksTheCertificate(t *testing.T) {
	names := make(chan string, 10)
	s, endpoint := secureSite(t, func(w http.ResponseWriter, r *http.Request) { names <- r.TLS.ServerName })
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	tests := []struct {
		name   string
		h      HTTP
		sni    string
		reason string // a part of it
	}{
		{"trusted, by address", HTTP{TLS: &tls.Config{RootCAs: roots}}, "", ""},
		{"trusted, by host", HTTP{Host: "example.com", TLS: &tls.Config{RootCAs: roots}}, "example.com", ""},
		{"trusted, by host and port", HTTP{Host: "example.com:443", TLS: &tls.Config{RootCAs: roots}}, "example.com", ""},
		{"server name before host", HTTP{Host: "b.test", TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}}, "example.com", ""},
		{"insecure", HTTP{TLS: &tls.Config{InsecureSkipVerify: true}}, "", ""},
		{"self-signed", HTTP{TLS: &tls.Config{}}, "", "http: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{"another name", HTTP{Host: "b.test", TLS: &tls.Config{RootCAs: roots}}, "", "http: tls: failed to verify certificate: x509: certificate is valid for "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := probe(t, newHTTP(t, endpoint, tt.h), 5*time.Second)
			if tt.reason != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.reason) {
					t.Errorf("probe says %v, want %q", err, tt.reason)
				}
				return
			}
			wantReason(t, err, "")
			if name := <-names; name != tt.sni {
				t.Errorf("asked for the name %q, want %q", name, tt.sni)
			}
		})
	}
}

func TestHTTPSProbeLeavesTheCallersConfigAlone(t *testing.T) {
	cfg := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
	_, endpoint := secureSite(t, func(http.ResponseWriter, *http.Request) {})
	wantReason(t, probe(t, newHTTP(t, endpoint, HTTP{TLS: cfg}), 5*time.Second), "")
	if cfg.ServerName != "" || fmt.Sprint(cfg.NextProtos) != "[h2]" {
		t.Errorf("the config became %q %v", cfg.ServerName, cfg.NextProtos)
	}
}

func TestHTTPSProbeEndsWithCloseNotifyAndEndOfStream(t *testing.T) {
	s, _ := secureSite(t, func(http.ResponseWriter, *http.Request) {})
	server := &tls.Config{Certificates: s.TLS.Certificates}
	b, endpoint := serveTCP(t, func(c net.Conn) error {
		secure := tls.Server(c, server)
		if _, err := http.ReadRequest(bufio.NewReader(secure)); err != nil {
			return err
		}
		if _, err := io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return err
		}
		if err := readAll(secure); err != nil { // ErrUnexpectedEOF without a close_notify
			return err
		}
		return readAll(c)
	})
	p := newHTTP(t, endpoint, HTTP{TLS: &tls.Config{InsecureSkipVerify: true}})
	for range 10 {
		wantReason(t, probe(t, p, 5*time.Second), "")
		if err := b.end(t); err != nil {
			t.Fatalf("the backend read %v, want close_notify and an end of stream", err)
		}
	}
}

func TestHTTPSProbeOfABackendThatSpeaksNoTLS(t *testing.T) {
	insecure := HTTP{TLS: &tls.Config{InsecureSkipVerify: true}}
	plainSite := site(t, func(http.ResponseWriter, *http.Request) {})
	_, mute := serveTCP(t, readAll)
	_, closing := serveTCP(t, func(net.Conn) error { return nil })
	wantReason(t, probe(t, newHTTP(t, plainSite, insecure), 5*time.Second),
		"http: tls: first record does not look like a TLS handshake")
	wantReason(t, probe(t, newHTTP(t, mute, insecure), 500*time.Millisecond), "http: no answer within 500ms")
	// It closes with the hello unread, which is a reset unless the close comes first.
	if err := probe(t, newHTTP(t, closing, insecure), 5*time.Second); err == nil {
		t.Error("a backend that closes passed")
	}
}
