package health

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
)

const (
	httpHeaderBytes = 64 << 10 // status line and header, those of interim answers included
	httpBodyBytes   = 64 << 10 // of the body, the rest is not waited for
	junkBytes       = 24       // of an answer that is no HTTP, shown to the operator
)

// HTTP is what an HTTP probe asks and wants. The zero value asks GET / in plain text and
// wants a status from 200 to 399.
type HTTP struct {
	Method string // "" is GET
	Path   string // with a query if need be; "" is /
	// Host is the Host header; "" is the endpoint's address, or localhost for a Unix socket.
	Host string
	// Status is what passes; empty is 200-399. Redirects are not followed, 301 is an answer.
	Status []StatusRange
	// TLS is nil for plain text. Without a ServerName the host of Host is asked for. The
	// protocol is HTTP/1.1 whatever NextProtos says.
	TLS *tls.Config
}

// httpProber speaks HTTP/1.1 over a connection of its own, with the reader and writer of
// net/http but not its Transport. That one dials apart from the request's deadline and
// closes in the background, so neither "one deadline over everything" nor "nothing is left
// once Probe returns" could be promised.
type httpProber struct {
	endpoint Endpoint
	request  []byte        // the same for every probe, so it is written once
	asked    *http.Request // decides how an answer is framed: none to HEAD has a body
	status   []StatusRange
	want     string
	tls      *tls.Config
}

// NewHTTP returns a prober that makes one request over a connection of its own, with no
// proxy from the environment. It passes if an answer with a wanted status arrives whole, or
// as far as the first 64 KB of its body, before the deadline. Errors wrap [ErrConfig].
func NewHTTP(t Endpoint, h HTTP) (Prober, error) {
	host := h.Host
	if host == "" {
		host = t.Address
		if t.Network == "unix" {
			host = "localhost"
		} else if _, _, err := net.SplitHostPort(host); err != nil {
			return nil, fmt.Errorf("%w: address %q: want host:port", ErrConfig, host)
		}
	}
	p := &httpProber{endpoint: t, status: slices.Clone(h.Status)}
	if len(p.status) == 0 {
		p.status = []StatusRange{{200, 399}}
	}
	for _, r := range p.status {
		if !r.valid() {
			return nil, fmt.Errorf("%w: status %v: want codes from %d to %d", ErrConfig, r, minStatus, maxStatus)
		}
	}
	p.want = statusList(p.status)
	if h.TLS != nil {
		p.tls = h.TLS.Clone()
		p.tls.ServerName = cmp.Or(p.tls.ServerName, hostOnly(host))
		p.tls.NextProtos = []string{"http/1.1"}
	}
	if err := p.prepare(cmp.Or(h.Method, http.MethodGet), cmp.Or(h.Path, "/"), host); err != nil {
		return nil, err
	}
	return p, nil
}

// hostOnly strips a port, if there is one, and the brackets of an IPv6 address.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		return host[1 : n-1]
	}
	return host
}

// prepare checks the request's parts and writes it, with "Connection: close" so that the
// backend does not wait for a second one.
func (p *httpProber) prepare(method, path, host string) error {
	if path[0] != '/' {
		return fmt.Errorf("%w: path %q: want a leading /", ErrConfig, path)
	}
	// net/http would send as much of it as is valid.
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }) {
		return fmt.Errorf("%w: host %q: want host or host:port", ErrConfig, host)
	}
	req, err := http.NewRequest(method, "http://backend"+path, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	req.Host, req.Close = host, true
	req.Header.Set("User-Agent", "sluice-health")
	var buf bytes.Buffer
	if err := req.Write(&buf); err != nil {
		return fmt.Errorf("%w: host %q: %w", ErrConfig, host, err)
	}
	p.request, p.asked = buf.Bytes(), req
	return nil
}

func (p *httpProber) Probe(ctx context.Context) error {
	return p.endpoint.Exchange(ctx, stepHTTP, p.tls, func(conn net.Conn) error {
		if err := p.exchange(ctx, conn); err != nil {
			return &Failure{Step: stepHTTP, Err: err}
		}
		return nil
	})
}

const stepHTTP = "http"

// exchange sends the request and judges the answer.
func (p *httpProber) exchange(ctx context.Context, conn net.Conn) error {
	if _, err := conn.Write(p.request); err != nil {
		return plain(ctx, err)
	}
	// net/http itself sets no bound on what it reads into a header.
	limit := &io.LimitedReader{R: conn, N: httpHeaderBytes}
	resp, err := p.answer(ctx, bufio.NewReader(limit))
	if err != nil && limit.N == 0 {
		return fmt.Errorf("header of the answer exceeds %d KB", httpHeaderBytes>>10)
	}
	if err != nil {
		return err
	}
	// The body is taken before our end of stream is sent, since many backends take that for
	// a client that has gone away, and log it. Closing it would only read on.
	limit.N = httpBodyBytes
	_, cut := io.CopyN(io.Discard, resp.Body, httpBodyBytes)
	switch {
	case !p.wants(resp.StatusCode): // says more than what became of the body
		return wrongStatus{resp.StatusCode, p.want}
	case cut == nil, errors.Is(cut, io.EOF), limit.N == 0:
		return nil // the whole body, or all that is taken of it
	case errors.Is(cut, io.ErrUnexpectedEOF):
		return fmt.Errorf("status %d, but the connection closed within the body", resp.StatusCode)
	}
	return fmt.Errorf("status %d, but the body: %w", resp.StatusCode, plain(ctx, cut))
}

// answer reads the header of the answer, past interim ones (RFC 9110, section 15.2).
func (p *httpProber) answer(ctx context.Context, r *bufio.Reader) (*http.Response, error) {
	for {
		start, err := r.Peek(len("HTTP/"))
		if len(start) == 0 {
			return nil, plain(ctx, err)
		}
		if !bytes.HasPrefix([]byte("HTTP/"), start) {
			// What it is instead names the protocol that listens there.
			start, _ = r.Peek(min(r.Buffered(), junkBytes))
			return nil, fmt.Errorf("not an HTTP answer: %q", start)
		}
		resp, err := http.ReadResponse(r, p.asked)
		if err != nil {
			return nil, malformed(ctx, err)
		}
		// 101 is final: nothing else follows it in this protocol.
		interim := resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols
		if !interim {
			return resp, nil
		}
	}
}

// malformed tells an answer that cannot be read from trouble with the connection.
func malformed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil: // a line cut by the deadline is returned as a bad one
		return plain(ctx, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return reworded{"connection closed within the header", err}
	case errors.As(err, new(net.Error)):
		return plain(ctx, err)
	}
	return fmt.Errorf("not a valid answer: %w", err)
}

// wrongStatus is a status that is not wanted.
type wrongStatus struct {
	code int
	want string
}

func (e wrongStatus) Error() string { return fmt.Sprintf("status %d, want %s", e.code, e.want) }

func (p *httpProber) wants(status int) bool {
	return slices.ContainsFunc(p.status, func(r StatusRange) bool {
		return r.From <= status && status <= r.To
	})
}
