package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// patience is how long a test waits for what should come at once.
const patience = 20 * time.Second

// running is a server on a loopback address.
type running struct {
	*Server
	t       *testing.T
	control *fake
	address string
	client  *http.Client
}

// begin serves cfg, with a fake unless it has a Control, until the test ends.
func begin(t *testing.T, cfg Config) *running {
	t.Helper()
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return beginOn(t, cfg, ln)
}

func beginOn(t *testing.T, cfg Config, ln net.Listener) *running {
	t.Helper()
	r := &running{t: t, control: newFake(), address: ln.Addr().String()}
	if cfg.Control == nil {
		cfg.Control = r.control
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	transport := &http.Transport{DisableKeepAlives: true}
	r.client = &http.Client{Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		s.Close()
		transport.CloseIdleConnections()
		if err := <-served; !errors.Is(err, ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	text   string
}

// fault is what an answer that is not 2xx says.
func (p reply) fault(t *testing.T) api.Fault {
	t.Helper()
	var e api.Error
	if err := json.Unmarshal([]byte(p.text), &e); err != nil || e.Error.Code == "" || e.Error.Message == "" {
		t.Fatalf("status %d with %q: no fault: %v", p.status, p.text, err)
	}
	return e.Error
}

// ask sends a request. A body is JSON unless the headers, "Name: value", say otherwise.
func (r *running) ask(method, path, body string, headers ...string) reply {
	r.t.Helper()
	q, err := http.NewRequestWithContext(context.Background(), method, "http://"+r.address+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Transfer-Encoding":
			q.ContentLength = -1
		case "Host":
			q.Host = value
		}
		q.Header.Set(name, value)
	}
	p, err := r.client.Do(q)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer p.Body.Close()
	text, err := io.ReadAll(p.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{p.StatusCode, p.Header, string(text)}
}

func (r *running) get(path string, headers ...string) reply {
	r.t.Helper()
	return r.ask("GET", path, "", headers...)
}

// expect asks and compares the status.
func (r *running) expect(status int, method, path, body string, headers ...string) reply {
	r.t.Helper()
	p := r.ask(method, path, body, headers...)
	if p.status != status {
		r.t.Fatalf("%s %s %s %q: status %d, want %d: %s", method, path, body, headers, p.status, status, p.text)
	}
	return p
}

// dial opens a connection that ends with the test.
func (r *running) dial() net.Conn {
	r.t.Helper()
	c, err := net.DialTimeout("tcp", r.address, patience)
	if err != nil {
		r.t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	r.t.Cleanup(func() { c.Close() })
	return c
}

// raw sends text as it is and returns the answer.
func (r *running) raw(text string) reply {
	r.t.Helper()
	c := r.dial()
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		r.t.Fatal(err)
	}
	return readReply(r.t, bufio.NewReader(c))
}

func readReply(t *testing.T, from *bufio.Reader) reply {
	t.Helper()
	p, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Body.Close()
	text, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{p.StatusCode, p.Header, string(text)}
}
