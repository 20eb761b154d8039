package admin

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestConfigsThatMakeNoServer(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{}, "Control is required"},
		{Config{Control: newFake(), Connections: -1}, "Connections is -1; want 0 (64) or more"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.says)
		}
	}
}

func TestShutdownWaitsForWhatIsUnderWay(t *testing.T) {
	r := begin(t, Config{})
	r.control.entered, r.control.release = make(chan struct{}), make(chan struct{})
	answered := make(chan int)
	go func() { answered <- r.ask("POST", "/api/v1/reload", "").status }()
	<-r.control.entered
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.Shutdown(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown that has no time: %v", err)
	}
	if _, err := net.Dial("tcp", r.address); err == nil {
		t.Error("it still listens")
	}
	close(r.control.release)
	if status := <-answered; status != 200 {
		t.Errorf("status %d", status)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseWaitsForCallsOfControl(t *testing.T) {
	r := begin(t, Config{})
	r.control.entered, r.control.release = make(chan struct{}), make(chan struct{})
	r.control.calls = []string{}
	c := r.dial()
	fmt.Fprint(c, "POST /api/v1/reload HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-r.control.entered
	closing := make(chan error)
	go func() { closing <- r.Close() }()
	ended(c) // cut, and the call goes on
	select {
	case <-closing:
		t.Error("Close did not wait")
	default:
	}
	close(r.control.release)
	if err := <-closing; err != nil {
		t.Error(err)
	}
	if calls := r.control.noted(); len(calls) != 1 {
		t.Errorf("called %q", calls)
	}
}

func TestAServerThatHasStoppedServesNoMore(t *testing.T) {
	for _, stop := range []func(*Server){
		func(s *Server) { s.Close() },
		func(s *Server) { s.Shutdown(t.Context()) },
		func(s *Server) { s.Close(); s.Close(); s.Shutdown(t.Context()) },
	} {
		s, err := New(Config{Control: newFake()})
		if err != nil {
			t.Fatal(err)
		}
		stop(s)
		ln := pipes(&net.UnixAddr{})
		if err := s.Serve(ln); err != ErrServerClosed {
			t.Error(err)
		}
		if _, err := ln.Accept(); err == nil {
			t.Error("the listener is open")
		}
	}
}

func TestAListenerThatBreaksIsAnError(t *testing.T) {
	ln := pipes(&net.UnixAddr{})
	s, err := New(Config{Control: newFake()})
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := s.Serve(ln); !errors.Is(err, net.ErrClosed) || errors.Is(err, ErrServerClosed) {
		t.Error(err)
	}
	s.Close()
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func logTo(l *lines, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}

func TestAPanicIsAnAnswerAndALogRecord(t *testing.T) {
	log := new(lines)
	half := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		panic("fake: half way")
	})
	r := begin(t, Config{Log: logTo(log, slog.LevelInfo), Metrics: half})
	r.control.panics = true
	if p := r.expect(500, "GET", "/api/v1/status", ""); p.fault(t).Code != api.CodeInternal || strings.Contains(p.text, "as asked for") {
		t.Error(p.text)
	}
	if text := log.String(); !strings.Contains(text, `msg="admin handler panicked"`) || !strings.Contains(text, "fake: as asked for") || !strings.Contains(text, "getStatus") {
		t.Error(text)
	}
	if _, err := r.client.Get("http://" + r.address + "/metrics"); err == nil {
		t.Error("half an answer looks whole")
	}
	r.control.mu.Lock()
	r.control.panics = false
	r.control.mu.Unlock()
	r.expect(200, "GET", "/api/v1/status", "")
}

func TestRequestsAreLoggedAtDebugOnly(t *testing.T) {
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		log := new(lines)
		r := begin(t, Config{Log: logTo(log, level), Token: "hush"})
		r.expect(404, "GET", "/none?x=1", "", "Authorization: Bearer hush")
		r.Close()
		if got := strings.Contains(log.String(), `msg="admin request" method=GET path=/none client=127.0.0.1:`); got != want || strings.Contains(log.String(), "hush") {
			t.Errorf("%v: %s", level, log)
		}
	}
}

// certificate makes one for 127.0.0.1 that is its own authority.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// secured makes r's client use TLS with a certificate, if it has one.
func secured(r *running, roots *x509.CertPool, own ...tls.Certificate) *http.Transport {
	tr := r.client.Transport.(*http.Transport)
	tr.TLSClientConfig = &tls.Config{RootCAs: roots, Certificates: own}
	return tr
}

func TestMutualTLS(t *testing.T) {
	server, roots := certificate(t, "sluice")
	anna, clients := certificate(t, "anna x")
	mallory, _ := certificate(t, "anna x")
	r := begin(t, Config{TLS: &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: clients}})
	for name, own := range map[string][]tls.Certificate{"no certificate": nil, "one of another authority": {mallory}} {
		secured(r, roots, own...)
		if p, err := r.client.Get("https://" + r.address + "/healthz"); err == nil {
			p.Body.Close()
			t.Errorf("%s: served", name)
		}
	}
	secured(r, roots, anna)
	q, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+r.address+b1+"/kill", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = "lb.example" // the certificate guards, so that any name is good
	q.Header.Set("From", "bob@host")
	p, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	p.Body.Close()
	calls := r.control.noted()
	if p.StatusCode != 200 || p.ProtoMajor != 1 || !strings.Contains(calls[len(calls)-1], "as bob@host certificate:annax (127.0.0.1:") {
		t.Errorf("%s, called %q", p.Proto, calls)
	}
}

func TestTLSAloneNeedsAToken(t *testing.T) {
	server, roots := certificate(t, "sluice")
	cfg := Config{TLS: &tls.Config{Certificates: []tls.Certificate{server}}, Control: newFake()}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(pipes(&net.TCPAddr{IP: net.IPv6zero})); err == nil || !strings.Contains(err.Error(), "TLS alone") {
		t.Error(err)
	}
	cfg.Token = "secret"
	r := begin(t, cfg)
	secured(r, roots)
	p, err := r.client.Get("https://" + r.address + "/api/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	p.Body.Close()
	if p.StatusCode != 401 {
		t.Error(p.Status)
	}
	if p := r.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); p.status != 400 {
		t.Errorf("plain HTTP to a TLS port: %d", p.status)
	}
}

func TestASilentTLSClientIsClosed(t *testing.T) {
	server, _ := certificate(t, "sluice")
	inBubble(t, Config{TLS: &tls.Config{Certificates: []tls.Certificate{server}}}, func(t *testing.T, _ *Server, ln *pipeListener) {
		start := time.Now()
		if ended(ln.dial()); time.Since(start) != headerTimeout {
			t.Errorf("closed after %v", time.Since(start))
		}
	})
}
