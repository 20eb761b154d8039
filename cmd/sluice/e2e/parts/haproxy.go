//go:build linux

package parts

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// HAProxy is a running haproxy in the foreground.
type HAProxy struct {
	*Process
	Addr string
	dir  string
}

// HAProxyTCP passes TCP connections on to target. words are options of its server line, such as "send-proxy-v2";
// lines are further lines of its section, such as "option httpchk".
func HAProxyTCP(t testing.TB, target, words string, lines ...string) *HAProxy {
	t.Helper()
	addr := FreeAddr(t)
	return startHAProxy(t, addr, fmt.Sprintf("listen front\n  mode tcp\n  bind %s\n  server one %s %s\n  %s\n",
		addr, target, words, strings.Join(lines, "\n  ")))
}

// HAProxySees answers every HTTP request with the client address it believes, after demanding a PROXY header.
func HAProxySees(t testing.TB) *HAProxy {
	t.Helper()
	addr := FreeAddr(t)
	return startHAProxy(t, addr, fmt.Sprintf(
		"frontend front\n  mode http\n  bind %s accept-proxy\n  http-request return status 200 content-type text/plain lf-string %%[src]\n",
		addr))
}

// HAProxyAcceptThen demands a PROXY header and passes the bytes on to target without one.
func HAProxyAcceptThen(t testing.TB, target string) *HAProxy {
	t.Helper()
	addr := FreeAddr(t)
	return startHAProxy(t, addr, fmt.Sprintf("listen front\n  mode tcp\n  bind %s accept-proxy\n  server one %s\n", addr, target))
}

func startHAProxy(t testing.TB, addr, sections string) *HAProxy {
	t.Helper()
	dir := TempDir(t)
	text := "global\n  maxconn 2000\n  stats socket " + filepath.Join(dir, "stats") + " mode 600 level admin\n" +
		"defaults\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  timeout check 2s\n" + sections
	cmd := exec.Command(Find(t, "haproxy", "haproxy"), "-db", "-f", writeFile(t, dir, "haproxy.cfg", text))
	h := &HAProxy{Process: startProcess(t, "haproxy", cmd), Addr: addr, dir: dir}
	Eventually(t, Patience, "haproxy opened its stats socket", func() bool {
		_, err := os.Stat(filepath.Join(dir, "stats"))
		return err == nil || h.Ended()
	})
	awaitBound(t, h.Process, addr)
	return h
}

// awaitBound waits for a listener without connecting to it: a connection would be passed on to the part behind.
func awaitBound(t testing.TB, p *Process, addr string) {
	t.Helper()
	Eventually(t, Patience, p.Name+" listens on "+addr, func() bool { return p.Ended() || Listening(addr) })
	if p.Ended() {
		t.Fatalf("%s ended at its start:\n%s", p.Name, p.Output.Last(30))
	}
}

// ServerStatus is the state of haproxy's only server as its own checks see it, such as "UP" or "DOWN", and the
// number of checks that failed.
func (h *HAProxy) ServerStatus(t testing.TB) (status, failed string) {
	t.Helper()
	c, err := net.DialTimeout("unix", filepath.Join(h.dir, "stats"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(Patience))
	fmt.Fprint(c, "show stat\n")
	table, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(table), "\n")
	names := strings.Split(strings.TrimPrefix(lines[0], "# "), ",")
	for _, line := range lines {
		values := strings.Split(line, ",")
		if len(values) > 1 && values[1] == "one" {
			return column(names, values, "status"), column(names, values, "chkfail")
		}
	}
	return "", ""
}

func column(names, values []string, name string) string {
	for i, n := range names {
		if n == name && i < len(values) {
			return values[i]
		}
	}
	return ""
}

// needFile fails the test with the name of the package that file is part of.
func needFile(t testing.TB, file, pkg string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%s is missing: these tests need the package %s (apt-get install %s)", file, pkg, pkg)
	}
}
