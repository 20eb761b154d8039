package balancer

import (
	"slices"
	"testing"
)

// example is a setup with two services.
var example = setup{
	Dir: "/tmp/x", File: "/tmp/x/file", Threads: 2,
	Settings: Settings{Sessions: 3500, Services: []Service{
		{Name: "http", Listen: "127.0.0.1:10001", Backends: []string{"127.0.0.1:80", "127.0.0.2:80"}},
		{Name: "redis", Listen: "127.0.0.1:10002", Backends: []string{"127.0.0.1:6379"}},
	}},
}

func TestConfigurationsAreWrittenAsMeant(t *testing.T) {
	root := example
	root.Root, root.StreamModule = true, "/usr/lib/stream.so"
	tests := []struct {
		name string
		kind Kind
		in   setup
		want string
	}{
		{"sluice", Sluice, example, `log: {level: warn, sessions: errors}
shutdown_timeout: 1s
defaults:
  balance: round-robin
  check: {type: none}
  connect: {timeout: 5s}
  timeouts: {idle: 0s, user: 0s, keepalive: 0s}
services:
  - name: http
    listen: 127.0.0.1:10001
    backends: [127.0.0.1:80, 127.0.0.2:80]
  - name: redis
    listen: 127.0.0.1:10002
    backends: [127.0.0.1:6379]
`},
		{"haproxy", HAProxy, example, `global
    nbthread 2
    maxconn 3500

defaults
    mode tcp
    balance roundrobin
    option splice-auto
    maxconn 3500
    timeout connect 5s
    timeout client 1h
    timeout server 1h

listen http
    bind 127.0.0.1:10001 backlog 4096
    server b0 127.0.0.1:80
    server b1 127.0.0.2:80

listen redis
    bind 127.0.0.1:10002 backlog 4096
    server b0 127.0.0.1:6379
`},
		{"nginx", Nginx, example, "daemon off;\n" + nginxRest},
		{"nginx as root with a module", Nginx, root, "load_module /usr/lib/stream.so;\nuser root;\ndaemon off;\n" + nginxRest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Spec{Kind: tt.kind}.text(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, tt.want)
			}
		})
	}
}

const nginxRest = `pid /tmp/x/nginx.pid;
error_log /tmp/x/error.log warn;
worker_processes 2;
worker_rlimit_nofile 7200;
events { worker_connections 7200; }
stream {
    proxy_connect_timeout 5s;
    proxy_timeout 1h;
    access_log off;
    upstream http {
        server 127.0.0.1:80 max_fails=0;
        server 127.0.0.2:80 max_fails=0;
    }
    server { listen 127.0.0.1:10001 backlog=4096; proxy_pass http; }
    upstream redis {
        server 127.0.0.1:6379 max_fails=0;
    }
    server { listen 127.0.0.1:10002 backlog=4096; proxy_pass redis; }
}
`

func TestEachKindHasAFileAndArguments(t *testing.T) {
	for _, k := range Kinds() {
		s := Spec{Kind: k}
		if args, err := s.args(example); err != nil || s.file() == "" || !slices.Contains(args, example.File) {
			t.Errorf("%s: file %q, arguments %q, %v", k, s.file(), args, err)
		}
	}
}
