package admin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

const b1 = "/api/v1/services/s/backends/b1"

func TestEveryEndpointAsksControl(t *testing.T) {
	r := begin(t, Config{})
	for _, c := range []struct {
		method, path, body string
		status             int
		call               string // the last one; "" = any
		answer             string // part of it
	}{
		{"GET", "/api/v1/status", "", 200, "status", `"version":"v1"`},
		{"GET", "/api/v1/services", "", 200, "services", `[{"name":"s"`},
		{"GET", "/api/v1/services/s", "", 200, "service s", `{"name":"s"`},
		{"GET", "/api/v1/services/s/backends", "", 200, "service s", `[{"name":"b1"`},
		{"GET", b1, "", 200, "service s", `{"name":"b1"`},
		{"GET", b1 + "/explain?at=2026-01-02T03:04:05Z", "", 200, "explain s b1 2026-01-02T03:04:05Z", `"backend":"b1"`},
		{"GET", b1 + "/explain", "", 200, "", `"backend":"b1"`},
		{"GET", "/api/v1/services/s/pick?source=::ffff:10.1.2.3", "", 200, "pick s 10.1.2.3", `"service":"s"`},
		{"GET", "/api/v1/sessions", "", 200, "sessions {    0s} age 1000", `{"total":0,"sessions":[]}`},
		{"GET", "/api/v1/sessions?service=s&backend=b1&client=10.0.0.0/8&min_age=1m&sort=bytes&limit=0", "", 200,
			"sessions { s b1 10.0.0.0/8 1m0s} bytes 0", ""},
		{"GET", "/api/v1/failures", "", 200, "failures  100", "[]"},
		{"GET", "/api/v1/failures?service=s&limit=5", "", 200, "failures s 5", "[]"},
		{"GET", "/api/v1/events", "", 200, "events 0 ", `{"events":[]}`},
		{"GET", "/api/v1/events?since=9&service=s", "", 200, "events 9 s", ""},
		{"GET", "/api/v1/config", "", 200, "config", "services: []"},

		{"PUT", b1 + "/admin", `{"state":"drain"}`, 200, "admin s b1 drain if=0", `"name":"b1"`},
		{"PUT", b1 + "/weight", `{"weight":0}`, 200, "set s b1 weight=0 if=0", `"name":"b1"`},
		{"PATCH", b1, `{"priority":2}`, 200, "set s b1 priority=2 if=0", `"name":"b1"`},
		{"PATCH", b1, `{"max_connections":0}`, 200, "set s b1 max_connections=0 if=0", `"name":"b1"`},
		{"POST", "/api/v1/services/s/backends", `{"address":"unix:/a b"}`, 201, "add s unix:/a b unix:/a b weight=1 0 0 if=0", `"name":"unix:/a b"`},
		{"POST", "/api/v1/services/s/backends", `{"address":"1.2.3.4:5","name":"n","weight":2,"priority":1,"max_connections":9}`, 201,
			"add s n 1.2.3.4:5 weight=2 1 9 if=0", `"name":"n"`},
		{"DELETE", b1, "", 200, "remove s b1 default if=0", `"sessions":0`},
		{"DELETE", b1 + "?within=0s", "", 200, "remove s b1 0s if=0", ""},
		{"DELETE", b1 + "?within=90s", "", 200, "remove s b1 1m30s if=0", ""},
		{"POST", b1 + "/kill", "", 200, "", `{"killed":3}`},
		{"POST", "/api/v1/services/s/pause", `{"for":"1h"}`, 200, "pause s 1h0m0s if=0", `{"for":"1h0m0s"}`},
		{"POST", "/api/v1/services/s/resume", "", 200, "resume s if=0", `{"was":true}`},
		{"POST", "/api/v1/services/s/resume", "{}", 200, "resume s if=0", ""},
		{"POST", "/api/v1/sessions/kill", `{"client":"10.0.0.1"}`, 200, "", `{"killed":3}`},
		{"POST", "/api/v1/reload", "", 200, "reload if=0", `"applied":true`},
	} {
		p := r.expect(c.status, c.method, c.path, c.body)
		calls := r.control.noted()
		if len(calls) == 0 || c.call != "" && calls[len(calls)-1] != c.call {
			t.Errorf("%s %s: called %q, want %q", c.method, c.path, calls, c.call)
		}
		if !strings.Contains(p.text, c.answer) {
			t.Errorf("%s %s: %s, want %s in it", c.method, c.path, p.text, c.answer)
		}
		if p.header.Get("Etag") == "" || p.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: headers %v", c.method, c.path, p.header)
		}
	}
}

func TestAPlanIsOfAFile(t *testing.T) {
	r := begin(t, Config{})
	p := r.expect(200, "POST", "/api/v1/plan?name=new.yaml", "services: []", "Content-Type: application/yaml")
	if calls := r.control.noted(); calls[0] != "plan new.yaml 12 bytes" || !strings.Contains(p.text, `"changes":[]`) {
		t.Errorf("%q, %s", calls, p.text)
	}
	r.expect(200, "POST", "/api/v1/plan", strings.Repeat("#", 8<<20), "Content-Type: application/yaml")
	if p := r.expect(413, "POST", "/api/v1/plan", strings.Repeat("#", 8<<20+1), "Content-Type: application/yaml"); p.fault(t).Code != api.CodeTooLarge {
		t.Error(p.text)
	}
	r.expect(413, "POST", "/api/v1/plan", strings.Repeat("#", 8<<20+1), "Content-Type: application/yaml", "Transfer-Encoding: chunked")
	for _, kind := range []string{"application/json", "text/plain", "application/x-www-form-urlencoded"} {
		r.expect(415, "POST", "/api/v1/plan", "services: []", "Content-Type: "+kind)
	}
}

func TestNamesOfBackendsMayHoldAnything(t *testing.T) {
	r := begin(t, Config{})
	for _, name := range names {
		path := "/api/v1/services/s/backends/" + strings.ReplaceAll(url.PathEscape(name), "..", "%2e%2e")
		var b api.Backend
		p := r.expect(200, "GET", path, "")
		if err := json.Unmarshal([]byte(p.text), &b); err != nil || b.Name != name {
			t.Errorf("%s: %s", path, p.text)
		}
		r.control.noted()
		r.expect(200, "PUT", path+"/admin", `{"state":"maint"}`)
		if got := r.control.noted(); got[0] != "admin s "+name+" maint if=0" {
			t.Errorf("%s: %q", path, got)
		}
		p = r.expect(201, "POST", "/api/v1/services/s/backends", `{"address":"1.2.3.4:5","name":"`+name+`"}`)
		at := p.header.Get("Location")
		if name != ".." { // which no escaping keeps from a client that tidies paths
			r.expect(200, "GET", at, "")
		}
	}
}

func TestABackendThatIsLeavingGivesWayToItsSuccessor(t *testing.T) {
	r := begin(t, Config{})
	r.control.services[0].Backends = []api.Backend{
		{Name: "b1", Address: "old", Leaving: true}, {Name: "b1", Address: "new"}, {Name: "b2", Leaving: true},
	}
	if p := r.expect(200, "GET", b1, ""); !strings.Contains(p.text, `"address":"new"`) {
		t.Error(p.text)
	}
	r.expect(200, "GET", "/api/v1/services/s/backends/b2", "")
}

func TestUnknownPathsAndNames(t *testing.T) {
	r := begin(t, Config{})
	for _, path := range []string{
		"/x", "/", "/metrics", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/status", "/api/v1/x", "/api/v1/status/", "/healthz/x",
		"/api/v1/services/none", "/api/v1/services/s/backends/none", "/api/v1/services/s/backends/unix:/run/x.sock",
		"/api/v1/services/none/backends",
	} {
		if p := r.expect(404, "GET", path, ""); p.fault(t).Code != api.CodeNotFound {
			t.Errorf("%s: %s", path, p.text)
		}
	}
	r.expect(404, "POST", "/api/v1/services/s/backends/none/kill", "")
	r.expect(404, "POST", "/api/v1/services/none/backends/b1/kill", "")
	for _, c := range r.control.noted() {
		if strings.HasPrefix(c, "kill") {
			t.Error("killed the sessions of a backend that is not there")
		}
	}
}

func TestMethodsThatAPathDoesNotHave(t *testing.T) {
	r := begin(t, Config{Metrics: http.NotFoundHandler(), Page: http.NotFoundHandler()})
	for _, c := range []struct{ method, path, allow string }{
		{"POST", "/api/v1/status", "GET, HEAD"},
		{"OPTIONS", "/api/v1/status", "GET, HEAD"},
		{"TRACE", "/api/v1/status", "GET, HEAD"},
		{"BREW", "/api/v1/status", "GET, HEAD"},
		{"PUT", b1, "DELETE, GET, HEAD, PATCH"},
		{"PATCH", b1 + "/admin", "PUT"},
		{"GET", b1 + "/admin", "PUT"},
		{"HEAD", "/api/v1/reload", "POST"},
		{"GET", "/api/v1/plan", "POST"},
		{"DELETE", "/api/v1/services/s/backends", "GET, HEAD, POST"},
		{"POST", "/healthz", "GET, HEAD"},
		{"POST", "/readyz", "GET, HEAD"},
		{"POST", "/metrics", "GET, HEAD"},
		{"POST", "/index.html", "GET, HEAD"},
	} {
		p := r.expect(405, c.method, c.path, "")
		if p.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: allows %q, want %q", c.method, c.path, p.header.Get("Allow"), c.allow)
		}
		if c.method != "HEAD" && p.fault(t).Code != api.CodeMethod {
			t.Errorf("%s %s: %s", c.method, c.path, p.text)
		}
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	r := begin(t, Config{})
	for _, path := range []string{"/api/v1/status", "/api/v1/config", "/healthz", "/readyz", b1, "/api/v1/events/stream", "/api/v1/none"} {
		h := r.ask("HEAD", path, "")
		if h.text != "" {
			t.Errorf("%s: a body: %q", path, h.text)
		}
		if path == "/api/v1/events/stream" {
			if h.status != 200 || h.header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s: %d %v", path, h.status, h.header)
			}
			continue
		}
		g := r.get(path)
		if h.status != g.status || h.header.Get("Content-Length") != g.header.Get("Content-Length") || h.header.Get("Etag") != g.header.Get("Etag") {
			t.Errorf("%s: %d %v, GET has %d %v", path, h.status, h.header, g.status, g.header)
		}
	}
}

func TestChangesOfWhatSomebodyElseChangedAreRefused(t *testing.T) {
	r := begin(t, Config{})
	seen := r.expect(200, "GET", b1, "").header.Get("Etag")
	if seen != `"7"` {
		t.Fatalf("ETag %s", seen)
	}
	p := r.expect(200, "PUT", b1+"/weight", `{"weight":1}`, "If-Match: "+seen)
	if p.header.Get("Etag") != `"8"` {
		t.Errorf("ETag after a change: %s", p.header.Get("Etag"))
	}
	p = r.expect(412, "PUT", b1+"/weight", `{"weight":1}`, "If-Match: "+seen)
	if p.fault(t).Code != api.CodeStale || p.header.Get("Etag") != `"8"` {
		t.Errorf("%s, ETag %s", p.text, p.header.Get("Etag"))
	}
	r.expect(200, "PUT", b1+"/weight", `{"weight":1}`, "If-Match: *")
	r.control.noted()
	for _, bad := range []string{"7", `W/"9"`, `"9", "10"`, `"x"`, `"-1"`, `"0"`, `""`, `"`, "", `"99999999999999999999"`} {
		for _, path := range []string{"POST /api/v1/reload", "POST " + b1 + "/kill", "DELETE " + b1} {
			method, path, _ := strings.Cut(path, " ")
			if p := r.expect(400, method, path, "", "If-Match: "+bad); p.fault(t).Code != api.CodeInvalid {
				t.Errorf("If-Match %s: %s", bad, p.text)
			}
		}
	}
	if calls := r.control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
}

func TestAChangeIsTaggedWithItsOwnRevision(t *testing.T) {
	r := begin(t, Config{})
	r.control.others = 3 // somebody else changes something before the answer is on its way
	p := r.expect(200, "PUT", b1+"/weight", `{"weight":1}`)
	if p.header.Get("Etag") != `"8"` {
		t.Fatalf("ETag %s", p.header.Get("Etag"))
	}
	// Who has not seen what the others did cannot overwrite it.
	r.expect(412, "PUT", b1+"/weight", `{"weight":2}`, "If-Match: "+p.header.Get("Etag"))
}

func TestFaultsOfControlHaveTheirStatus(t *testing.T) {
	r := begin(t, Config{})
	for code, status := range map[string]int{
		api.CodeInvalid: 400, api.CodeUnauthorized: 401, api.CodeForbidden: 403, api.CodeNotFound: 404, api.CodeMethod: 405,
		api.CodeTimeout: 408, api.CodeConflict: 409, api.CodeStale: 412, api.CodeTooLarge: 413, api.CodeMedia: 415,
		api.CodeConfig: 422, api.CodeBusy: 503, api.CodeInternal: 500, "a new one": 500,
	} {
		want := api.Fault{Code: code, Message: "because", Faults: []string{"f:1:2: x"}}
		r.control.fault = &want
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/api/v1/services/s", ""}, {"GET", "/api/v1/services/s/backends", ""}, {"GET", b1, ""}, {"GET", b1 + "/explain", ""},
			{"GET", "/api/v1/services/s/pick?source=1.2.3.4", ""}, {"GET", "/api/v1/sessions", ""},
			{"PUT", b1 + "/admin", `{"state":"ready"}`}, {"PUT", b1 + "/weight", `{"weight":1}`}, {"DELETE", b1, ""}, {"POST", b1 + "/kill", ""},
			{"POST", "/api/v1/services/s/backends", `{"address":"a:1"}`}, {"POST", "/api/v1/services/s/pause", `{"for":"1s"}`},
			{"POST", "/api/v1/services/s/resume", ""}, {"POST", "/api/v1/sessions/kill", `{"id":"s/1"}`}, {"POST", "/api/v1/reload", ""},
		} {
			got := r.expect(status, c.method, c.path, c.body).fault(t)
			if got.Code != code || got.Message != "because" || len(got.Faults) != 1 {
				t.Errorf("%s %s: %+v", c.method, c.path, got)
			}
		}
	}
}
