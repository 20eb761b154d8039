package balancer

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
	"unicode"

	"github.com/sluicelb/sluice/bench/proc"
)

// Threads is how many threads or worker processes each balancer has.
const Threads = 2

// Settings are what a balancer is to do.
type Settings struct {
	// Services are at least one; their Listen is filled in by Start.
	Services []Service
	// Sessions is how many there must be room for, over all services.
	Sessions int
	// Failover is how backends are watched and given up; nil = they are not.
	Failover *Failover
}

// Service is one address of a balancer and the backends behind it.
type Service struct {
	Name     string
	Listen   string   // host:port
	Backends []string // host:port, at least one
	// Hash is true if a client is to go to the same backend each time, by its address;
	// else backends take turns.
	Hash bool
}

// setup is what a configuration is made of.
type setup struct {
	Settings
	Dir     string // working directory, for what a program insists on writing
	File    string // of the configuration itself
	Threads int
	// Root is true if the program will run as root: nginx would give that up for a user
	// who may not enter Dir.
	Root bool
	// StreamModule is what nginx has to load for TCP; empty if it is built in.
	StreamModule string
}

// text returns the configuration of a balancer.
func (s Spec) text(in setup) (string, error) {
	return expand(s.source(in.Failover != nil), in)
}

// source is the template of a balancer's configuration.
func (s Spec) source(failover bool) string {
	switch {
	case s.Adapter != nil:
		return s.Adapter.Config
	case failover:
		return map[Kind]string{Sluice: sluiceFailover, HAProxy: haproxyFailover, Nginx: nginxFailover}[s.Kind]
	}
	return map[Kind]string{Sluice: sluiceText, HAProxy: haproxyText, Nginx: nginxText}[s.Kind]
}

// expand fills in a template.
func expand(source string, in setup) (string, error) {
	t, err := template.New("configuration").Option("missingkey=error").Funcs(functions()).Parse(source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, in)
	return b.String(), err
}

// functions are those that a template may use besides the usual ones.
func functions() template.FuncMap {
	return template.FuncMap{
		"join":    strings.Join,
		"ms":      time.Duration.Milliseconds,
		"seconds": func(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }, // rounded up
		"hex":     func(s string) string { return hex.EncodeToString([]byte(s)) },
		"escape":  escape,
		"host":    func(addr string) string { host, _, _ := net.SplitHostPort(addr); return host },
		"port":    func(addr string) string { _, port, _ := net.SplitHostPort(addr); return port },
	}
}

// escape writes every byte but letters and digits as \xNN, which needs no quoting
// within quotes of any kind.
func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < 0x80 && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// args are the arguments that run a balancer in the foreground with a configuration.
func (s Spec) args(in setup) ([]string, error) {
	switch {
	case s.Adapter != nil:
		var all []string
		for _, source := range s.Adapter.Args {
			arg, err := expand(source, in)
			if err != nil {
				return nil, err
			}
			all = append(all, arg)
		}
		return all, nil
	case s.Kind == HAProxy:
		return []string{"-db", "-f", in.File}, nil
	case s.Kind == Nginx:
		return []string{"-p", in.Dir, "-c", in.File, "-e", "stderr"}, nil
	}
	return []string{"run", "-c", in.File}, nil
}

// file is the name of a balancer's configuration file.
func (s Spec) file() string {
	if s.Adapter != nil {
		return s.Adapter.File
	}
	return map[Kind]string{Sluice: "sluice.yaml", HAProxy: "haproxy.cfg", Nginx: "nginx.conf"}[s.Kind]
}

// newSetup fills in what depends on this machine.
func newSetup(ctx context.Context, spec Spec, dir string, settings Settings) setup {
	s := setup{Settings: settings, Dir: dir, File: filepath.Join(dir, spec.file()), Threads: Threads, Root: os.Geteuid() == 0}
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
