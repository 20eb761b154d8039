package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

const (
	// prefix is the version of the API. A server that has another one answers 404 with words
	// of its own.
	prefix = "/api/v1"
	// maxAnswer bounds what a server can make us keep. A million sessions fit.
	maxAnswer  = 256e6
	jsonType   = "application/json"
	yamlType   = "application/yaml"
	streamType = "text/event-stream"
)

// client asks one server.
type client struct {
	target
	http    *http.Client
	who     string
	timeout time.Duration
	most    int64 // bytes of an answer
}

// newClient makes a client that follows no proxy of the environment: the admin server is near,
// and its token is nobody else's business.
func newClient(t target, timeout time.Duration, e *Env) *client {
	dial := e.dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout}).DialContext
	}
	transport := &http.Transport{
		DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, t.network, t.address) },
		TLSClientConfig:       t.tls,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: timeout, // all that bounds a stream
	}
	c := &client{target: t, timeout: timeout, most: maxAnswer}
	c.http = &http.Client{
		Transport: transport,
		// The API sends nobody elsewhere, and a token must not follow.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if e.User != nil {
		c.who = header(e.User())
	}
	return c
}

// request is what is asked.
type request struct {
	method string // "" = GET
	path   string // below /api/v1, escaped
	query  url.Values
	body   any    // sent as JSON; []byte as kind says
	kind   string // content type of a []byte
	accept string // content type of the answer; "" = JSON

	// What the path is about, for an error that says which there are.
	service, backend string
}

// of returns a request about a service and, if it has a name, a backend. Names may hold
// anything that prints, so each is escaped as one segment.
func of(service, backend, action string) request {
	r := request{path: "/services/" + segment(service), service: service, backend: backend}
	if backend != "" {
		r.path += "/backends/" + segment(backend)
	}
	r.path += action
	return r
}

// segment escapes a name. One of dots only would be a way up.
func segment(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return url.PathEscape(name)
}

// send makes a request that changes something.
func (r request) send(method string, body any) request {
	r.method, r.body = method, body
	return r
}

// do asks, and decodes the answer into out, unless that is nil.
func (c *client) do(ctx context.Context, r request, out any) (raw []byte, err error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// What is asked to explain a failure has a time of its own: the first may be used up.
	resp, err := c.open(bounded, r)
	if err != nil {
		return nil, c.explainMissing(ctx, r, err)
	}
	defer resp.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(resp.Body, c.most+1))
	switch {
	case err != nil:
		return nil, c.unreachable(bounded, err)
	case int64(len(raw)) > c.most:
		return nil, fmt.Errorf("%s: the answer is larger than %s", c.shown, size(c.most))
	case out == nil:
		return raw, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, c.garbage(raw, err)
	}
	return raw, nil
}

// open sends a request and returns an answer that is 2xx, with its body open.
func (c *client) open(ctx context.Context, r request) (*http.Response, error) {
	req, err := c.build(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	ours := tagged(resp)
	if resp.StatusCode/100 == 2 && ours {
		return resp, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return nil, c.unreachable(ctx, err)
	case resp.StatusCode/100 == 2:
		return nil, c.garbage(raw, fmt.Errorf("no revision in its ETag %q", resp.Header.Get("ETag")))
	}
	return nil, c.refused(resp.StatusCode, raw)
}

// close ends the connections that are kept for a next request.
func (c *client) close() { c.http.CloseIdleConnections() }

// tagged tells whether an answer has a revision, as all of sluice's API have. Others speak JSON
// too, and an object of theirs would be read as one of ours with every field empty.
func tagged(resp *http.Response) bool {
	text, quoted := strings.CutPrefix(resp.Header.Get("ETag"), `"`)
	text, ended := strings.CutSuffix(text, `"`)
	_, err := strconv.ParseUint(text, 10, 64)
	return quoted && ended && err == nil
}

// build makes the HTTP request. The path is written escaped, and net/http keeps it so: a
// backend's slash stays %2F.
func (c *client) build(ctx context.Context, r request) (*http.Request, error) {
	scheme, host := "http", c.address
	if c.tls != nil {
		scheme = "https"
	}
	if c.network == "unix" {
		host = "localhost" // a path is no host; the server must know this one
	}
	method, kind := r.method, jsonType
	if method == "" {
		method = http.MethodGet
	}
	var body io.Reader
	switch b := r.body.(type) {
	case nil: // the content type is sent all the same: the server asks for it of every change
	case []byte:
		body, kind = bytes.NewReader(b), r.kind
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	target := scheme + "://" + host + prefix + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", c.shown, c.source, err)
	}
	c.dress(req, kind)
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	return req, nil
}

// dress adds the headers: who asks, and what they know.
func (c *client) dress(req *http.Request, kind string) {
	req.Header.Set("Accept", jsonType)
	req.Header.Set("User-Agent", "sluice")
	if req.Method != http.MethodGet {
		req.Header.Set("Content-Type", kind)
	}
	if c.who != "" {
		req.Header.Set("From", c.who)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// header makes a text fit for one.
func header(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, s)
}

// status asks for the process.
func (c *client) status(ctx context.Context) (s api.Status, raw []byte, err error) {
	raw, err = c.do(ctx, request{path: "/status"}, &s)
	return s, raw, err
}

// services asks for all of them: also for what is not there, to say what is.
func (c *client) services(ctx context.Context) (all []api.Service, raw []byte, err error) {
	raw, err = c.do(ctx, request{path: "/services"}, &all)
	return all, raw, err
}

// service asks for one, which is far less than all where there are hundreds.
func (c *client) service(ctx context.Context, name string) (s api.Service, raw []byte, err error) {
	raw, err = c.do(ctx, of(name, "", ""), &s)
	return s, raw, err
}

// now is the server's clock.
func now(s api.Status) time.Time { return s.Started.Add(time.Duration(s.Uptime)) }

// gone tells whether an error is that something is not there.
func gone(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.fault.Code == api.CodeNotFound
}
