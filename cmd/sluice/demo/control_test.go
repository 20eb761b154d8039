package demo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newTestFleet starts three backends and returns what they said was done.
func newTestFleet(t *testing.T, port int) (*fleet, *[]string) {
	t.Helper()
	var said []string
	f, err := newFleet(port, func(by, what string) { said = append(said, by+" "+what) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f, &said
}

// press sends a request to the switch under a loopback name unless header has another.
func press(h http.Handler, method, path string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8089"+path, nil)
	for k, v := range header {
		r.Header.Set(k, v)
		if k == "Host" {
			r.Host = v
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTheSwitchCannotBePressedByAWebPage(t *testing.T) {
	f, said := newTestFleet(t, 22780)
	h := controlHandler(f)
	for name, c := range map[string]struct {
		method string
		header map[string]string
		want   int
	}{
		"GET":                 {"GET", nil, http.StatusMethodNotAllowed},
		"rebound name":        {"POST", map[string]string{"Host": "evil.example:8089"}, http.StatusForbidden},
		"name like loopback":  {"POST", map[string]string{"Host": "127.0.0.1.evil.example"}, http.StatusForbidden},
		"no name":             {"POST", map[string]string{"Host": ""}, http.StatusForbidden},
		"foreign origin":      {"POST", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		"other local origin":  {"POST", map[string]string{"Origin": "http://127.0.0.1:3000"}, http.StatusForbidden},
		"no origin to be had": {"POST", map[string]string{"Origin": "null"}, http.StatusForbidden},
		"cross-site":          {"POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"same-site":           {"POST", map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
	} {
		if w := press(h, c.method, "/kill/bob", c.header); w.Code != c.want {
			t.Errorf("%s: status %d, want %d", name, w.Code, c.want)
		}
	}
	if len(*said) > 0 {
		t.Errorf("all the same: %v", *said)
	}
	for _, host := range []string{"localhost:8089", "127.0.0.1", "[::1]:8089", "127.9.9.9:1"} {
		if w := press(h, "GET", "/", map[string]string{"Host": host}); w.Code != http.StatusOK {
			t.Errorf("host %s: status %d", host, w.Code)
		}
	}
}

func TestOrdersChangeABackendAndAreSaidOnce(t *testing.T) {
	f, said := newTestFleet(t, 23080)
	h := controlHandler(f)
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/sick/bob", 200, "bob sick\n"},
		{"/sick/bob", 200, "bob sick\n"}, // again is no error
		{"/well/bob", 200, "bob well\n"},
		{"/kill/bob", 200, "bob killed\n"},
		{"/kill/bob", 200, "bob killed\n"},
		{"/sick/bob", 409, "bob is killed: revive it first\n"},
		{"/revive/bob", 200, "bob well\n"},
		{"/kill/dave", 404, "no such backend: \"dave\"; there are alice, bob, carol\n"},
		{"/shoot/bob", 404, "404 page not found\n"},
	} {
		if w := press(h, "POST", c.path, nil); w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.path, w.Code, w.Body, c.status, c.body)
		}
	}
	want := "you sick bob, you well bob, you kill bob, you revive bob"
	if got := strings.Join(*said, ", "); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestTheSwitchListsTheBackends(t *testing.T) {
	f, _ := newTestFleet(t, 23380)
	f.order(t.Context(), "test", verbSick, "carol")
	w := press(controlHandler(f), "GET", "/", nil)
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], f.backends[0].address+" well") || !strings.HasSuffix(lines[2], " sick") {
		t.Errorf("got %q", lines)
	}
}
