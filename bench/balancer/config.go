package balancer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/sluicelb/sluice/bench/proc"
)

// Threads is how many threads or worker processes each balancer has.
const Threads = 2

// Service is one address of a balancer and the backends behind it.
type Service struct {
	Name     string
	Listen   string   // host:port
	Backends []string // host:port, at least one
}

// setup is what a configuration is made of.
type setup struct {
	Dir      string // working directory, for what a program insists on writing
	Services []Service
	Threads  int
	// Sessions is how many there must be room for, over all services.
	Sessions int
	// Root is true if the program will run as root: nginx would give that up for a user
	// who may not enter Dir.
	Root bool
	// StreamModule is what nginx has to load for TCP; empty if it is built in.
	StreamModule string
}

// text returns the configuration of a kind.
func (k Kind) text(s setup) (string, error) {
	source := map[Kind]string{Sluice: sluiceText, HAProxy: haproxyText, Nginx: nginxText}[k]
	t, err := template.New(string(k)).Funcs(template.FuncMap{"join": strings.Join}).Parse(source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, s)
	return b.String(), err
}

// args are the arguments that run a kind in the foreground with the configuration in
// file.
func (k Kind) args(dir, file string) []string {
	switch k {
	case HAProxy:
		return []string{"-db", "-f", file}
	case Nginx:
		return []string{"-p", dir, "-c", file, "-e", "stderr"}
	}
	return []string{"run", "-c", file}
}

// file is the name of a kind's configuration file.
func (k Kind) file() string {
	return map[Kind]string{Sluice: "sluice.yaml", HAProxy: "haproxy.cfg", Nginx: "nginx.conf"}[k]
}

// newSetup fills in what depends on this machine.
func newSetup(ctx context.Context, spec Spec, dir string, services []Service, sessions int) setup {
	s := setup{Dir: dir, Services: services, Threads: Threads, Sessions: sessions, Root: os.Geteuid() == 0}
	if spec.Kind == Nginx {
		s.StreamModule = streamModule(proc.Output(ctx, spec.Path, "-V"))
	}
	return s
}

// streamModule finds in what "nginx -V" prints which file an nginx has to load for TCP;
// empty if TCP is built in.
func streamModule(built string) string {
	dir := "/usr/lib/nginx/modules" // Debian's
	for _, option := range strings.Fields(built) {
		if option == "--with-stream" {
			return ""
		}
		if path, ok := strings.CutPrefix(option, "--modules-path="); ok {
			dir = path
		}
	}
	return filepath.Join(dir, "ngx_stream_module.so")
}

const sluiceText = `log: {level: warn, sessions: errors}
shutdown_timeout: 1s
defaults:
  balance: round-robin
  check: {type: none}
  connect: {timeout: 5s}
  timeouts: {idle: 0s, user: 0s, keepalive: 0s}
services:
{{- range .Services}}
  - name: {{.Name}}
    listen: {{.Listen}}
    backends: [{{join .Backends ", "}}]
{{- end}}
`

const haproxyText = `global
    nbthread {{.Threads}}
    maxconn {{.Sessions}}

defaults
    mode tcp
    balance roundrobin
    option splice-auto
    maxconn {{.Sessions}}
    timeout connect 5s
    timeout client 1h
    timeout server 1h
{{range .Services}}
listen {{.Name}}
    bind {{.Listen}} backlog 4096
{{- range $i, $addr := .Backends}}
    server b{{$i}} {{$addr}}
{{- end}}
{{end}}`

// Twice the sessions in each worker: nothing spreads connections evenly over workers.
const nginxText = `{{if .StreamModule}}load_module {{.StreamModule}};
{{end}}{{if .Root}}user root;
{{end}}daemon off;
pid {{.Dir}}/nginx.pid;
error_log {{.Dir}}/error.log warn;
worker_processes {{.Threads}};
worker_rlimit_nofile {{.Descriptors}};
events { worker_connections {{.Descriptors}}; }
stream {
    proxy_connect_timeout 5s;
    proxy_timeout 1h;
    access_log off;
{{- range .Services}}
    upstream {{.Name}} {
{{- range .Backends}}
        server {{.}} max_fails=0;
{{- end}}
    }
    server { listen {{.Listen}} backlog=4096; proxy_pass {{.Name}}; }
{{- end}}
}
`

// Descriptors is enough for every session to be on one worker.
func (s setup) Descriptors() int { return 2*s.Sessions + 200 }
