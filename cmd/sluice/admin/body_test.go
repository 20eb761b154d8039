package admin

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

func TestBodiesThatAreNotWhatIsAskedFor(t *testing.T) {
	r := begin(t, Config{})
	const backends, kill, pause = "POST /api/v1/services/s/backends", "POST /api/v1/sessions/kill", "POST /api/v1/services/s/pause"
	const admin, weight = "PUT " + b1 + "/admin", "PUT " + b1 + "/weight"
	for _, c := range []struct {
		to, body string
		says     string // part of the message
	}{
		{admin, ``, "body missing: want application/json"},
		{admin, `{}`, `state "": want ready, drain or maint`},
		{admin, `{"state":"off"}`, `state "off": want ready, drain or maint`},
		{admin, `{"state":"READY"}`, `want ready, drain or maint`},
		{admin, `{"state":1}`, `state: 1 is no string`},
		{admin, `{"state":null}`, `state: null is no value`},
		{admin, `{"state":"ready","state":"drain"}`, `key "state" stands twice`},
		{admin, `{"State":"ready"}`, `unknown key "State": want state`},
		{admin, `{"state":"ready","force":true}`, `unknown key "force": want state`},
		{admin, `{"state":"ready"}{"state":"drain"}`, "more than one JSON value"},
		{admin, `{"state":"ready"} x`, "more than one JSON value"},
		{admin, `{"state":"ready"`, "body is no JSON"},
		{admin, `{"state":"ready",}`, "body is no JSON"},
		{admin, `{"state"}`, "body is no JSON"},
		{admin, `{state:"ready"}`, "body is no JSON"},
		{admin, `["ready"]`, "want one JSON object"},
		{admin, `"ready"`, "want one JSON object"},
		{admin, `null`, "want one JSON object"},
		{admin, " \n ", "want one JSON object"},
		{admin, "\xef\xbb\xbf{}", "want one JSON object"},
		{admin, `{"state":` + strings.Repeat("[", 20000) + `}`, "body is no JSON"},
		{admin, `{"` + strings.Repeat("k", 60000) + `":1}`, "want state"},
		{weight, `{}`, "weight: required, 0 to 256"},
		{weight, `{"weight":257}`, "weight 257: want 0 to 256"},
		{weight, `{"weight":-1}`, "weight -1: want 0 to 256"},
		{weight, `{"weight":1.5}`, "weight: 1.5 is no whole number"},
		{weight, `{"weight":1e99}`, "is no whole number"},
		{weight, `{"weight":"1"}`, `weight: "1" is no whole number`},
		{"PATCH " + b1, `{}`, "nothing to set: want weight, priority or max_connections"},
		{"PATCH " + b1, `{"weight":257}`, "weight 257: want 0 to 256"},
		{"PATCH " + b1, `{"priority":-1}`, "priority -1: want 0 or more"},
		{"PATCH " + b1, `{"weight":1,"max_connections":-5}`, "max_connections -5: want 0 or more"},
		{"PATCH " + b1, `{"name":"x"}`, `unknown key "name"`},
		{backends, `{"name":"x"}`, "address: required"},
		{backends, `{"address":"a:1","weight":300}`, "weight 300: want 0 to 256"},
		{backends, `{"address":"a:1","priority":-1}`, "priority -1"},
		{backends, `{"address":"a:1","max_connections":-1}`, "max_connections -1"},
		{backends, `{"address":"a:1","wieght":3}`, `unknown key "wieght": want address, max_connections, name, priority or weight`},
		{pause, `{}`, "for 0s: want above 0, at most 1h0m0s"},
		{pause, `{"for":"-1s"}`, "for -1s: want above 0"},
		{pause, `{"for":"1h1ns"}`, "at most 1h0m0s"},
		{pause, `{"for":30}`, `for: 30 is no duration like "30s"`},
		{pause, `{"for":"soon"}`, `for: time: invalid duration "soon"`},
		{kill, `{}`, "the filter is empty"},
		{kill, `{"min_age":"0s"}`, "the filter is empty"},
		{kill, `{"id":""}`, "the filter is empty"},
		{kill, `{"backend":"b1"}`, `backend "b1": want a service too`},
		{kill, `{"client":"10.0.0.1:80"}`, `client "10.0.0.1:80": want an IP address or a CIDR`},
		{kill, `{"service":"s","min_age":"-1s"}`, "min_age -1s"},
		{"POST /api/v1/reload", `{"force":true}`, `unknown key "force": want none`},
		{"POST /api/v1/services/s/resume", `[]`, "want one JSON object"},
		{"POST " + b1 + "/kill", `x`, "want one JSON object"},
		{"DELETE " + b1, `{"within":"1s"}`, `unknown key "within"`},
		{"GET /api/v1/status", `{"x":1}`, `unknown key "x"`},
	} {
		method, path, _ := strings.Cut(c.to, " ")
		p := r.expect(400, method, path, c.body, "Content-Type: application/json; charset=UTF-8")
		if f := p.fault(t); f.Code != api.CodeInvalid || !strings.Contains(f.Message, c.says) || len(f.Message) > 400 {
			t.Errorf("%s %.80s: %q, want %q in it", c.to, c.body, f.Message, c.says)
		}
	}
	for _, call := range r.control.noted() {
		if strings.Contains(call, "if=") {
			t.Errorf("called %s", call)
		}
	}
}

func TestHugeBodies(t *testing.T) {
	r := begin(t, Config{})
	large := `{"state":"ready"` + strings.Repeat(" ", 64<<10) + `}`
	for _, to := range []string{"PUT " + b1 + "/admin", "POST /api/v1/reload", "DELETE " + b1} {
		method, path, _ := strings.Cut(to, " ")
		if p := r.expect(413, method, path, large); p.fault(t).Message != "body too large: want at most 65536 bytes" {
			t.Errorf("%s: %s", to, p.text)
		}
	}
	// What is said of the length is believed only where it is too much.
	p := r.raw("PUT " + b1 + "/admin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999999999\r\n\r\n{")
	if p.status != 413 {
		t.Errorf("%+v", p)
	}
	p = r.raw("PUT " + b1 + "/admin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"11000\r\n" + strings.Repeat("x", 0x11000) + "\r\n")
	if p.status != 413 {
		t.Errorf("%+v", p)
	}
	p = r.raw("PUT " + b1 + "/admin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	if p.status != 400 {
		t.Errorf("%+v", p)
	}
	if calls := r.control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
}

func TestOnlyWhatNoFormCanSendIsRead(t *testing.T) {
	r := begin(t, Config{})
	for _, kind := range []string{
		"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "text/json", "json",
		"application/json; charset=latin1", "application/json, text/plain", "application/json;;",
	} {
		for _, to := range []string{"PUT " + b1 + "/admin", "POST /api/v1/services/s/resume"} {
			method, path, _ := strings.Cut(to, " ")
			if p := r.expect(415, method, path, `{"state":"ready"}`, "Content-Type: "+kind); p.fault(t).Code != api.CodeMedia {
				t.Errorf("%q: %s", kind, p.text)
			}
		}
	}
	r.expect(415, "PUT", b1+"/admin", "{}", "Content-Encoding: gzip")
	r.expect(200, "POST", "/api/v1/reload", "", "Content-Type: application/x-www-form-urlencoded") // curl -d ''
	r.expect(200, "PUT", b1+"/admin", `{"state":"ready"}`, "Content-Type: Application/JSON")
}

func TestParametersThatAreNotWhatIsAskedFor(t *testing.T) {
	r := begin(t, Config{})
	for path, says := range map[string]string{
		"/api/v1/status?x=1":                           `unknown parameter "x": want none`,
		"/api/v1/failures?n=1":                         `unknown parameter "n": want service or limit`,
		"/api/v1/failures?limit=1&limit=2":             `parameter "limit" stands twice`,
		"/api/v1/failures?limit=-1":                    `limit "-1": want a whole number from 0`,
		"/api/v1/failures?limit=99999999999":           "want a whole number from 0",
		"/api/v1/failures?limit=%zz":                   "query: invalid URL escape",
		"/api/v1/failures?limit=1;service=s":           "query: invalid semicolon",
		"/api/v1/sessions?sort=name":                   `sort "name": want age, bytes, client or backend`,
		"/api/v1/sessions?backend=b1":                  "want a service too",
		"/api/v1/sessions?client=me":                   `client "me": want an IP address or a CIDR`,
		"/api/v1/sessions?min_age=1":                   `min_age "1": want a duration like 30s, from 0`,
		"/api/v1/sessions?min_age=-1s":                 "from 0",
		"/api/v1/sessions?limit=all":                   "want a whole number",
		"/api/v1/events?since=-1":                      `since "-1": want the id of an event`,
		"/api/v1/events/stream?since=x":                `since "x": want the id of an event`,
		"/api/v1/services/s/pick":                      `source "": want an IP address`,
		"/api/v1/services/s/pick?source=1.2.3.4:5":     "without a port",
		b1 + "/explain?at=yesterday":                   `at "yesterday": want RFC 3339`,
		b1 + "/explain?at=" + strings.Repeat("x", 500): "want RFC 3339",
	} {
		f := r.expect(400, "GET", path, "").fault(t)
		if f.Code != api.CodeInvalid || !strings.Contains(f.Message, says) || len(f.Message) > 300 {
			t.Errorf("%s: %q, want %q in it", path, f.Message, says)
		}
	}
	r.expect(400, "DELETE", b1+"?within=-1s", "")
	r.expect(400, "DELETE", b1+"?force=1", "")
	if calls := r.control.noted(); len(calls) != 0 {
		t.Errorf("called %q", calls)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"address":"a:1","name":"n","weight":3,"priority":1,"max_connections":5}`))
	f.Add([]byte(`{"address":"a:1","address":null}{`))
	f.Add([]byte(`{"weight":{"a":[1,2,{}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b api.NewBackend
		if err := decode(text, &b); err != nil {
			var c *api.ControlError
			if !errors.As(err, &c) || c.Code != api.CodeInvalid || c.Message == "" {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
