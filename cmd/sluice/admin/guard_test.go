package admin

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// page is a handler that says which path it was asked for.
var page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "page %s", r.URL.Path) })

func TestWithoutATokenOnlyOurOwnNamesAreServed(t *testing.T) {
	r := begin(t, Config{Page: page, Metrics: page})
	for _, host := range []string{
		"localhost", "LocalHost:1", "localhost.:80", "127.0.0.1", "127.8.9.1:9090", "[::1]", "[::1]:80", "[::ffff:127.0.0.1]:5", r.address,
	} {
		for _, path := range []string{"/", "/healthz", "/metrics", "/api/v1/status"} {
			r.expect(200, "GET", path, "", "Host: "+host)
		}
	}
	r.control.noted()
	for _, host := range []string{
		"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:127.0.0.1", "192.0.2.1", "0.0.0.0",
		"[::]", "127.1", "2130706433", "0x7f.1", "localhost:80:80", "[localhost", "a@localhost", "sub.localhost", "[fe80::1%25lo]",
	} {
		for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/api/v1/status", "/x"} {
			p := r.raw("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
			if p.status != 403 || p.fault(t).Code != api.CodeForbidden {
				// net/http itself refuses what no host may hold.
				if p.status != 400 {
					t.Errorf("host %s, %s: %d %s", host, path, p.status, p.text)
				}
			}
		}
	}
	for name, text := range map[string]string{
		"no host":         "GET /api/v1/status HTTP/1.0\r\n\r\n",
		"an empty host":   "GET /api/v1/status HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
		"an absolute URL": "GET http://evil.example/api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"a forwarded one": "GET /api/v1/status HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\nForwarded: host=localhost\r\nConnection: close\r\n\r\n",
		"connect":         "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
	} {
		if p := r.raw(text); p.status != 403 {
			t.Errorf("%s: %d %s", name, p.status, p.text)
		}
	}
	if p := r.raw("GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"); p.status != 400 {
		t.Errorf("two hosts: %d", p.status)
	}
	if calls := r.control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
}

func TestOnASocketOrWithATokenAnyNameIsServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	r := beginOn(t, Config{}, ln)
	useSocket(r, path)
	r.expect(200, "GET", "/api/v1/status", "", "Host: anything")
	r.expect(200, "POST", "/api/v1/services/s/resume", "")

	r = begin(t, Config{Token: "secret"})
	r.expect(200, "GET", "/healthz", "", "Host: lb.example")
	r.expect(200, "GET", "/api/v1/status", "", "Host: lb.example", "Authorization: Bearer secret")
	r.expect(401, "GET", "/api/v1/status", "", "Host: lb.example")
}

func TestATokenIsAskedForWhereThereIsSomethingToTell(t *testing.T) {
	r := begin(t, Config{Token: "secret", Page: page, Metrics: page})
	open, private := []string{"/healthz", "/readyz", "/readyz?usable", "/", "/app.js"}, []string{
		"/metrics", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v1/none", "/api/v2", "/%61pi/v1/status", "/api%2fv1/status/../..", "/metric%73",
	}
	for _, e := range r.endpoints() {
		private = append(private, prefix+strings.NewReplacer("{service}", "s", "{backend}", "b1").Replace(e.path))
	}
	for _, path := range open {
		r.expect(200, "GET", path, "")
	}
	r.control.noted()
	for _, path := range private {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "FLY"} {
			p := r.ask(method, path, "")
			if strings.Contains(path, "..") {
				if p.status != 404 {
					t.Errorf("%s %s: %d", method, path, p.status)
				}
				continue
			}
			if p.status != 401 || p.header.Get("Www-Authenticate") != `Bearer realm="sluice"` || p.header.Get("Etag") != "" {
				t.Errorf("%s %s: %d %v", method, path, p.status, p.header)
			}
		}
	}
	for _, given := range []string{
		"secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret", "Basic secret", "Bearer  secret", "Bearer secret, Bearer secret",
		"Bearer " + strings.Repeat("x", 8000),
	} {
		if p := r.expect(401, "GET", "/api/v1/status", "", "Authorization: "+given); p.fault(t).Code != api.CodeUnauthorized {
			t.Errorf("%q: %s", given, p.text)
		}
	}
	p := r.raw("GET /api/v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\nAuthorization: Bearer secret\r\nConnection: close\r\n\r\n")
	if p.status != 401 {
		t.Errorf("two tokens: %d", p.status)
	}
	if calls := r.control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
	for _, given := range []string{"Bearer secret", "bearer secret"} {
		r.expect(200, "GET", "/api/v1/status", "", "Authorization: "+given)
		r.expect(200, "GET", "/metrics", "", "Authorization: "+given)
	}
}

func TestPagesOfOtherOriginsCanAskNothing(t *testing.T) {
	r := begin(t, Config{PageToken: "ours", Metrics: page, Page: page})
	own := "Origin: http://" + r.address
	for _, headers := range [][]string{
		{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Sec-Fetch-Site: Same-Origin"}, {"Sec-Fetch-Site: "},
		{"Sec-Fetch-Site: cross-site", "X-Sluice-Page: ours"}, {"Sec-Fetch-Site: cross-site", own},
		{"Origin: http://evil.example"}, {"Origin: null"}, {"Origin: "}, {"Origin: http://localhost:1"}, {"Origin: %zz"}, {own, "Origin: http://evil.example"},
	} {
		for _, to := range []string{"GET /api/v1/status", "GET /api/v1/events/stream", "GET /metrics", "POST /api/v1/reload", "POST /api/v1/services/s/resume", "DELETE " + b1} {
			method, path, _ := strings.Cut(to, " ")
			if p := r.expect(403, method, path, "", headers...); p.fault(t).Code != api.CodeForbidden {
				t.Errorf("%s %q: %s", to, headers, p.text)
			}
		}
	}
	for _, headers := range [][]string{
		{"Origin: http://evil.example"}, {"Origin: null"}, {"Origin: "}, {own}, {"Sec-Fetch-Site: same-origin"}, {"Sec-Fetch-Site: none"},
		{"Sec-Fetch-Site: same-origin", own, "X-Sluice-Page: theirs"}, {"Origin: http://evil.example", "X-Sluice-Page: ours"},
		{"Origin: http://localhost:1", "X-Sluice-Page: ours"}, {"Origin: null", "X-Sluice-Page: ours"},
	} {
		r.expect(403, "POST", "/api/v1/reload", "", headers...)
		r.expect(403, "PUT", b1+"/admin", `{"state":"maint"}`, headers...)
		r.expect(403, "POST", "/api/v1/plan", "services: []", append(headers, "Content-Type: text/plain")...)
	}
	if calls := r.control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
	r.expect(200, "GET", "/", "", "Sec-Fetch-Site: cross-site") // a link to the page is no harm
	r.expect(200, "GET", "/api/v1/status", "", "Sec-Fetch-Site: same-origin")
	r.expect(200, "GET", "/api/v1/status", "", own)
	r.expect(200, "POST", "/api/v1/reload", "", "Sec-Fetch-Site: same-origin", own, "X-Sluice-Page: ours")
	r.expect(200, "POST", "/api/v1/reload", "", own, "X-Sluice-Page: ours")
}

func TestWithoutAPageTokenNoBrowserChangesAnything(t *testing.T) {
	r := begin(t, Config{})
	for _, header := range []string{"X-Sluice-Page: ", "X-Sluice-Page: x"} {
		r.expect(403, "POST", "/api/v1/reload", "", "Sec-Fetch-Site: same-origin", header)
	}
	r.expect(200, "POST", "/api/v1/reload", "")
}

func TestPathsWithTricks(t *testing.T) {
	r := begin(t, Config{Page: page})
	for _, path := range []string{
		"//", "//api/v1/status", "/api//v1/status", "/api/v1/../v1/status", "/api/v1/./status", "/./api/v1/status", "/..", "/../api/v1/status",
		"/api/v1/services//backends", "/api/v1/services/s/backends//kill", "/healthz/..", "/x/%00", "/%00", "/api/v1/services/%00", "/api/v1/status//", "*",
	} {
		for _, method := range []string{"GET", "POST", "CONNECT", "OPTIONS"} {
			p := r.raw(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			if p.status < 400 || p.header.Get("Location") != "" {
				t.Errorf("%s %s: %d %v %s", method, path, p.status, p.header, p.text)
			}
		}
	}
	// Escaped, they are characters of a name.
	for _, path := range []string{
		"/api/v1/services/%2e%2e", "/api/v1/services/%2e%2e%2f%2e%2e", "/api/v1/services/s%00", "/api/v1/%2e%2e/status", "/api/v1/services/s/backends/%2e",
		"/api/v1/services/s%2fbackends", "/api/v1/services/s/backends/b1%2fkill",
	} {
		p := r.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if p.status != 404 {
			t.Errorf("%s: %d %s", path, p.status, p.text)
		}
	}
	if p := r.raw("GET /%2fapi/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); p.text != "page //api/v1/status" {
		t.Errorf("%d %s", p.status, p.text) // for the page to refuse
	}
	if p := r.raw("GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"); p.status != 400 {
		t.Error(p.status)
	}
}

func TestNoAnswerLetsAnotherOriginInOrABrowserGuess(t *testing.T) {
	r := begin(t, Config{Page: page, Token: "x"})
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/api/v1/status", "/none//", "/api/v1/none"} {
		for _, method := range []string{"GET", "OPTIONS", "POST"} {
			p := r.ask(method, path, "", "Origin: http://evil.example", "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: x-sluice-page")
			for name := range p.header {
				if strings.HasPrefix(name, "Access-Control") {
					t.Errorf("%s %s: %s", method, path, name)
				}
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if p.header.Get(name) != want {
					t.Errorf("%s %s: %s is %q", method, path, name, p.header.Get(name))
				}
			}
			static := path == "/" && method == "GET"
			if cached := p.header.Get("Cache-Control") != "no-store"; cached != static {
				t.Errorf("%s %s: cache-control %q", method, path, p.header.Get("Cache-Control"))
			}
			if !strings.HasPrefix(p.header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s %s: policy %q", method, path, p.header.Get("Content-Security-Policy"))
			}
		}
	}
}

// No spelling of a request line or a header asks Control anything without the token.
func FuzzNoRequestComesPastTheToken(f *testing.F) {
	control := newFake()
	s, err := New(Config{Control: control, Token: "secret", Page: page, Metrics: http.HandlerFunc(
		func(http.ResponseWriter, *http.Request) { control.note("metrics") })})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("GET /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
	f.Add("POST /%61pi/v1/reload HTTP/1.0\r\nAuthorization: Bearer x\r\n\r\n")
	f.Add("GET http://x/api/../metrics?a=b;c HTTP/1.1\r\nHost: x\r\nAuthorization: bearer\r\n\r\n")
	f.Add("CONNECT /api/v1/events/stream HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil || strings.Contains(text, "secret") || r.URL.Path == "/readyz" {
			return
		}
		w := httptest.NewRecorder()
		s.serveHTTP(w, r)
		if calls := control.noted(); len(calls) > 0 || w.Code == http.StatusInternalServerError {
			t.Errorf("%q: status %d, called %q", text, w.Code, calls)
		}
	})
}

func TestHeadersThatAreTooLarge(t *testing.T) {
	r := begin(t, Config{})
	p := r.raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Flood: "+strings.Repeat("x", 100)+"\r\n", 400) + "\r\n")
	if p.status != 431 {
		t.Errorf("many headers: %d", p.status)
	}
	p = r.raw("GET /healthz?" + strings.Repeat("x", 40000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if p.status != 431 {
		t.Errorf("a long path: %d", p.status)
	}
	p = r.raw("GET /" + strings.Repeat("x", 10000) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	if p.status != 404 || len(p.text) > 400 {
		t.Errorf("%d, %d bytes that repeat what was sent", p.status, len(p.text))
	}
}
