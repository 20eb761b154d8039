//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
)

const drainB1 = "/api/v1/services/s/backends/b1/admin"

// Without a token, the danger is a page in the operator's own browser.
func TestAdminRefusesWhatABrowserMayBeMadeToSend(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, admin, _ := startAdmin(t, "", noCheck, addrs...)
	own := "http://" + admin.Addr
	for name, headers := range map[string][]string{
		"a name that points here":   {"Host: evil.example"},
		"its port too":              {"Host: evil.example:" + admin.Addr[strings.LastIndex(admin.Addr, ":")+1:]},
		"an address that is not":    {"Host: 10.0.0.1"},
		"a page elsewhere":          {"Origin: http://evil.example"},
		"a page without an origin":  {"Origin: null"},
		"another port of this host": {"Origin: http://127.0.0.1:1"},
		"by fetch metadata":         {"Sec-Fetch-Site: cross-site"},
		"another site of the host":  {"Sec-Fetch-Site: same-site"},
		"no proof of our page":      {"Origin: " + own, "Sec-Fetch-Site: same-origin"},
		"a wrong proof":             {"Origin: " + own, "Sec-Fetch-Site: same-origin", "X-Sluice-Page: AAAA"},
		"our origin, cross-site":    {"Origin: " + own, "Sec-Fetch-Site: cross-site"},
	} {
		for _, request := range [][2]string{{"PUT", drainB1}, {"POST", "/api/v1/services/s/backends/b1/kill"}, {"POST", "/api/v1/reload"}} {
			body := `{"state": "drain"}`
			if request[0] == "POST" {
				body = ""
			}
			if status, text := admin.Do(request[0], request[1], body, headers...); status != http.StatusForbidden {
				t.Errorf("%s: %s %s: %d %s", name, request[0], request[1], status, text)
			}
		}
	}
	for _, typ := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} { // what a form can send
		if status, _ := admin.Do("PUT", drainB1, `{"state": "drain"}`, "Content-Type: "+typ); status != http.StatusUnsupportedMediaType {
			t.Errorf("a body of %s: %d", typ, status)
		}
	}
	if status, _ := admin.Do("GET", "/api/v1/services", "", "Host: evil.example"); status != http.StatusForbidden {
		t.Errorf("a question by a foreign name: %d", status)
	}
	if b, _ := admin.Backend("b1"); b.Admin != "ready" {
		t.Errorf("one of them came through: %+v", b)
	}
	if status, text := admin.Do("PUT", drainB1, `{"state": "drain"}`); status != http.StatusOK {
		t.Errorf("a program is refused: %d %s", status, text)
	}
}

func TestAdminRefusesBodiesAndPathsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	_, addrs := greeters(t, 2)
	_, admin, _ := startAdmin(t, "", noCheck, addrs...)
	for _, body := range []string{`{"state": "drain"`, `{"state": "drain"} {}`, `{"state": "drain", "sate": 1}`, `{"state": "ready", "state": "drain"}`,
		`{"state": null}`, `["drain"]`, `"drain"`, "\x00", strings.Repeat("[", 60_000)} {
		if status, text := admin.Do("PUT", drainB1, body); status != http.StatusBadRequest {
			t.Errorf("body %.40q: %d %s", body, status, text)
		}
	}
	huge := `{"state": "` + strings.Repeat("x", 8<<20) + `"}`
	if status, text := admin.Do("PUT", drainB1, huge); status != http.StatusRequestEntityTooLarge && status != 0 { // 0: cut off while it was sent
		t.Errorf("8 MB: %d %s", status, text)
	}
	for _, path := range []string{"//api/v1/services", "/api//v1/services", "/api/v1/../v1/services", "/./api/v1/services", "/api/v1/services/",
		"/api/v1/services/s/backends/../../../status", "/api/v1/services/%2e%2e/status", "/api/v2/services", "/API/v1/services",
		"/api/v1/services/s%00", "/debug/pprof/", "/debug/vars", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"} {
		if status := rawStatus(t, admin.Addr, "GET "+path+" HTTP/1.1\r\nHost: "+admin.Addr+"\r\nConnection: close\r\n\r\n"); status != "404" && status != "400" {
			t.Errorf("path %s: %s", path, status)
		}
	}
	for name, request := range map[string]string{
		"two hosts":         "GET /api/v1/status HTTP/1.1\r\nHost: " + admin.Addr + "\r\nHost: evil.example\r\n\r\n",
		"no host":           "GET /api/v1/status HTTP/1.1\r\n\r\n",
		"two lengths":       "PUT " + drainB1 + " HTTP/1.1\r\nHost: " + admin.Addr + "\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"an absolute form":  "GET http://evil.example/api/v1/status HTTP/1.1\r\nHost: " + admin.Addr + "\r\nConnection: close\r\n\r\n",
		"a method override": "POST " + drainB1 + " HTTP/1.1\r\nHost: " + admin.Addr + "\r\nX-HTTP-Method-Override: PUT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	} {
		if status := rawStatus(t, admin.Addr, request); !strings.HasPrefix(status, "4") {
			t.Errorf("%s: %s", name, status)
		}
	}
	if b, _ := admin.Backend("b1"); b.Admin != "ready" {
		t.Errorf("one of them came through: %+v", b)
	}
}

// rawStatus sends what no client would, and returns the status of the answer.
func rawStatus(t *testing.T, addr, request string) string {
	t.Helper()
	c := parts.Dial(t, addr)
	parts.Write(t, c, request)
	answer := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(c, answer); err != nil {
		t.Errorf("%q: %v", request, err)
	}
	return string(answer[len("HTTP/1.1 "):])
}

func TestAdminAnswersBesideClientsThatSayNothing(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	s, admin, addr := startAdmin(t, "", noCheck, b.Addr)
	before := parts.CountFDs(t, s.Pid()).Total
	var conns []*net.TCPConn
	for i := range 200 {
		c, err := parts.TryDial("", admin.Addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns = append(conns, c)
		// Some say nothing, some begin, some never end a header, some never end a body.
		begin := []string{"", "GE", "GET /api/v1/status HTTP/1.1\r\nHost: x\r\nX-Y: ", "PUT " + drainB1 + " HTTP/1.1\r\nHost: " + admin.Addr +
			"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"}[i%4]
		_, _ = io.WriteString(c, begin)
	}
	defer closeAll(conns)
	for range 5 {
		begin := time.Now()
		admin.MustCtl("status")
		elapsed(t, "`sluice status`", begin, 0, 5*time.Second)
		if status, text := admin.Get("/readyz"); status != http.StatusOK {
			t.Errorf("/readyz: %d %s", status, text)
		}
	}
	if n := parts.CountFDs(t, s.Pid()).Total; n > before+70 {
		t.Errorf("%d descriptors, %d before: more than the 64 connections that the page may have", n, before)
	}
	whoNow(t, "", addr)
}

func TestAdminOnEveryAddressNeedsAToken(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	rest := service(noCheck, b.Addr)
	for _, listen := range []string{"0.0.0.0:0", `":0"`, `"[::]:0"`} {
		res := parts.Command(t, binary(t), "run", "-c", file(t, "admin: {listen: "+listen+"}\n"+rest))
		if res.Code != 1 || !strings.Contains(res.Stderr, "token") {
			t.Errorf("without a token on %s: exit %d, %q", listen, res.Code, res.Stderr)
		}
	}
	s := parts.RunSluice(t, parts.Config{Binary: binary(t), YAML: "admin: {listen: 0.0.0.0:0, token: \"env:E2E_TOKEN\"}\n" + rest, Env: []string{"E2E_TOKEN=s3cret"}})
	all := s.Admin(t)
	admin := parts.NewAdmin(t, binary(t), "127.0.0.1"+all.Addr[strings.LastIndex(all.Addr, ":"):])
	for _, header := range []string{"", "Authorization: Bearer ", "Authorization: Bearer S3CRET", "Authorization: Basic czNjcmV0", "Authorization: s3cret"} {
		for _, path := range []string{"/api/v1/services", "/metrics"} {
			if status, _ := admin.Do("GET", path, "", header); status != http.StatusUnauthorized {
				t.Errorf("%q: %s is %d", header, path, status)
			}
		}
	}
	if status, text := admin.Do("GET", "/api/v1/services", "", "Authorization: Bearer s3cret"); status != http.StatusOK || strings.Contains(text, "s3cret") {
		t.Errorf("with the token: %d %s", status, text)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _ := admin.Get(path); status != http.StatusOK {
			t.Errorf("%s is %d without a token", path, status)
		}
	}
	if res := admin.Ctl("status"); res.Code != 1 || !strings.Contains(res.Stderr, "token") {
		t.Errorf("`sluice status` without a token: exit %d, %q", res.Code, res.Stderr)
	}
	admin.MustCtl("status", "--token", "s3cret")
	if status, text := admin.Do("GET", "/api/v1/config", "", "Authorization: Bearer s3cret"); status != http.StatusOK || strings.Contains(text, "s3cret") {
		t.Errorf("the configuration: %d, %s", status, text)
	}
}

func TestAdminOnAUnixSocketIsForItsUserAlone(t *testing.T) {
	t.Parallel()
	b := parts.Serve(t, parts.Greet("b1"))
	path := filepath.Join(parts.TempDir(t), "admin.sock")
	s := run(t, fmt.Sprintf("admin: {listen: \"unix:%s\"}\n%s", path, service(noCheck, b.Addr)))
	s.Addr(t, "s")
	admin := s.Admin(t)
	if admin.Addr != "unix:"+path {
		t.Errorf("it listens on %q", admin.Addr)
	}
	if out := admin.MustCtl("status"); !strings.Contains(out, "b1") {
		t.Errorf("status says:\n%s", out)
	}
	if out := admin.MustCtl("drain", "s/b1"); !strings.Contains(out, "s/b1: drain") {
		t.Errorf("drain says:\n%s", out)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want the mode 0600", info.Mode(), err)
	}
	s.Stop(t)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
	if res := admin.Ctl("status"); res.Code != 1 || !strings.Contains(res.Stderr, path) {
		t.Errorf("with nobody there: exit %d, %q", res.Code, res.Stderr)
	}
}
