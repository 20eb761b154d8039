//go:build linux

package parts

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Admin talks to the admin address of a running sluice as other programs do.
type Admin struct {
	Addr string

	t      testing.TB
	binary string
	client *http.Client
}

// Admin waits until sluice has its admin address and returns a client of it.
func (s *Sluice) Admin(t testing.TB) *Admin {
	t.Helper()
	r := s.Log.Await(t, Patience, 1, Match{Msg: "admin", Fields: Fields{"address": "*"}})
	return NewAdmin(t, s.binary, r.Get("address"))
}

// NewAdmin returns a client of the admin server at addr, whose commands are those of binary.
func NewAdmin(t testing.TB, binary, addr string) *Admin {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &Admin{Addr: addr, t: t, binary: binary, client: &http.Client{Transport: transport, Timeout: Patience}}
}

// Do makes a request with headers, each "Name: value", and returns the status and the body of the answer; 0 and the
// error's text if there is none. It may be called from any goroutine.
func (a *Admin) Do(method, path, body string, headers ...string) (status int, answer string) {
	req, err := http.NewRequest(method, "http://"+a.Addr+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			continue
		}
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	res, err := a.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// Get is Do for questions.
func (a *Admin) Get(path string) (status int, answer string) { return a.Do(http.MethodGet, path, "") }

// Must makes a request and fails the test unless the answer has this status. What the answer says goes to v, unless
// that is nil.
func (a *Admin) Must(want int, method, path, body string, v any) {
	a.t.Helper()
	status, answer := a.Do(method, path, body)
	if status != want {
		a.t.Fatalf("%s %s: %d, want %d: %s", method, path, status, want, answer)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal([]byte(answer), v); err != nil {
		a.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

// ServiceView is what tests look at in an element of /api/v1/services.
type ServiceView struct {
	Name     string
	Listen   []string
	Sessions int
	Usable   int
	Leaving  bool
	Backends []BackendView
	Ended    map[string]int
}

// BackendView is what tests look at in a backend of it.
type BackendView struct {
	Name, Address, Health, Admin, Reason string
	Usable, Leaving                      bool
	Sessions, Total                      int
}

// Services is GET /api/v1/services.
func (a *Admin) Services() (all []ServiceView) {
	a.t.Helper()
	a.Must(http.StatusOK, http.MethodGet, "/api/v1/services", "", &all)
	return all
}

// Service returns one of Services; ok is false if there is none of that name.
func (a *Admin) Service(name string) (v ServiceView, ok bool) {
	a.t.Helper()
	for _, v = range a.Services() {
		if v.Name == name {
			return v, true
		}
	}
	return ServiceView{}, false
}

// Backend returns the first backend of that name of service s; ok is false if there is none.
func (a *Admin) Backend(name string) (v BackendView, ok bool) {
	a.t.Helper()
	s, _ := a.Service("s")
	for _, v = range s.Backends {
		if v.Name == name {
			return v, true
		}
	}
	return BackendView{}, false
}

// AwaitReady waits until /readyz says yes.
func (a *Admin) AwaitReady() {
	a.t.Helper()
	Eventually(a.t, Patience, "/readyz is 200", func() bool {
		status, _ := a.Get("/readyz")
		return status == http.StatusOK
	})
}

// Ctl runs a command of sluice against this admin address to its end.
func (a *Admin) Ctl(args ...string) Result {
	a.t.Helper()
	return Command(a.t, a.binary, append(args, "--admin", a.Addr)...)
}

// MustCtl is Ctl for a command that has to succeed; it returns what it printed.
func (a *Admin) MustCtl(args ...string) string {
	a.t.Helper()
	res := a.Ctl(args...)
	if res.Code != 0 {
		a.t.Fatalf("sluice %s: exit %d\n%s%s", strings.Join(args, " "), res.Code, res.Stdout, res.Stderr)
	}
	return res.Stdout
}

// Rewrite replaces the file that sluice was started with.
func (s *Sluice) Rewrite(t testing.TB, yaml string) {
	t.Helper()
	next := s.File + ".next"
	if err := os.WriteFile(next, []byte(complete(yaml)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, s.File); err != nil {
		t.Fatal(err)
	}
}

// Reload has sluice read its file again by the command, which has to succeed.
func (s *Sluice) Reload(t testing.TB, a *Admin, yaml string) {
	t.Helper()
	s.Rewrite(t, yaml)
	a.MustCtl("reload")
}

// AwaitService waits until what the API says of a service fits.
func (a *Admin) AwaitService(within time.Duration, name, what string, fits func(v ServiceView, ok bool) bool) {
	a.t.Helper()
	Eventually(a.t, within, what, func() bool { return fits(a.Service(name)) })
}
