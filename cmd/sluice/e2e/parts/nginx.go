//go:build linux

package parts

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Nginx is a running nginx of a single process, so that a signal to it reaches all of it.
type Nginx struct {
	*Process
	Addr string
	path string // its configuration
	dir  string
}

// NginxHTTP is an HTTP backend that answers every request with its name, a space and the client address it saw.
// After 40 of them on a connection it says so and closes, so that connections end by themselves. With proxyProtocol it demands a PROXY header and believes its address.
func NginxHTTP(t testing.TB, name string, proxyProtocol bool) *Nginx {
	t.Helper()
	listen, seen := "", "$remote_addr"
	if proxyProtocol {
		listen, seen = " proxy_protocol", "$proxy_protocol_addr"
	}
	addr := FreeAddr(t)
	return startNginx(t, addr, fmt.Sprintf(`http {
  access_log off; default_type text/plain; keepalive_requests 40; %s
  server {
    listen %s%s backlog=1024;
    set_real_ip_from 127.0.0.0/8; real_ip_header proxy_protocol;
    location / { return 200 "%s %s"; }
  }
}`, tempPaths, addr, listen, name, seen))
}

// NginxStream answers every TCP connection with the client address its PROXY header told, and closes.
func NginxStream(t testing.TB) *Nginx {
	t.Helper()
	addr := FreeAddr(t)
	return startNginx(t, addr, fmt.Sprintf(`stream {
  server { listen %s proxy_protocol; return "$proxy_protocol_addr"; }
}`, addr))
}

// NginxStreamProxy passes TCP connections on to target with a PROXY v1 header, as an outer balancer does.
func NginxStreamProxy(t testing.TB, target string) *Nginx {
	t.Helper()
	addr := FreeAddr(t)
	return startNginx(t, addr, fmt.Sprintf(`stream {
  server { listen %s; proxy_pass %s; proxy_protocol on; }
}`, addr, target))
}

// tempPaths keeps nginx out of /var/lib, where an ordinary user may not write.
const tempPaths = `client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;`

const streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

func startNginx(t testing.TB, addr, block string) *Nginx {
	t.Helper()
	head := "daemon off; master_process off; pid nginx.pid; error_log stderr notice;\n"
	if strings.HasPrefix(block, "stream") {
		needFile(t, streamModule, "libnginx-mod-stream")
		head += "load_module " + streamModule + ";\n"
	}
	dir := TempDir(t)
	text := head + "events { worker_connections 2048; }\n" + block + "\n"
	n := &Nginx{Addr: addr, dir: dir, path: writeFile(t, dir, "nginx.conf", text)}
	n.Start(t)
	return n
}

// Start starts nginx; again after Kill.
func (n *Nginx) Start(t testing.TB) {
	t.Helper()
	cmd := exec.Command(Find(t, "nginx", "nginx"), "-p", n.dir, "-c", n.path, "-e", "stderr")
	n.Process = startProcess(t, "nginx", cmd)
	awaitBound(t, n.Process, n.Addr)
}
