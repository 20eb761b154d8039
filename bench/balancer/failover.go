package balancer

import "time"

// Failover is how backends are watched, given up and taken back. All is meant to be the
// same for every balancer; Cannot says what one has no words for.
type Failover struct {
	// Connect bounds one dial; one that fails is made elsewhere, and gives the backend up.
	Connect time.Duration
	// Interval, Timeout, Rise and Fall are those of active checks.
	Interval, Timeout time.Duration
	Rise, Fall        int
	// Send is what a check sends, Expect what the answer must contain.
	Send, Expect string
	// Eject is for how long a failed dial gives a backend up, unless checks take it back.
	Eject time.Duration
	// Dead is how long bytes may be unacknowledged, and about how long a quiet peer may be
	// gone, until a session ends.
	Dead time.Duration
	// Close is true if sessions of a backend that checks have taken down are to be ended.
	Close bool
}

// Default returns what is used unless somebody asks for something else: values that a
// careful operator would choose for backends nearby.
func Default() Failover {
	return Failover{
		Connect: 500 * time.Millisecond, Interval: 500 * time.Millisecond, Timeout: 500 * time.Millisecond,
		Rise: 2, Fall: 2, Eject: 2 * time.Second, Dead: 2 * time.Second,
	}
}

// Cannot are sentences: what of f a balancer has no words for.
func (s Spec) Cannot(f Failover) []string {
	switch {
	case s.Adapter != nil:
		return s.Adapter.Cannot
	case s.Kind == Nginx:
		all := []string{
			"no active checks: a backend is given up only by dials that fail (max_fails=1, fail_timeout)",
			"no TCP_USER_TIMEOUT: unacknowledged bytes are given up by the system's own limit, of minutes",
		}
		if f.Close {
			all = append(all, "sessions of a backend that is down are not ended")
		}
		return all
	}
	return nil
}

const sluiceFailover = `log: {level: warn, sessions: off}
shutdown_timeout: 1s
{{- with .Failover}}
defaults:
  balance: round-robin
  connect: {timeout: {{.Connect}}}
  check: {type: send-expect, interval: {{.Interval}}, timeout: {{.Timeout}}, rise: {{.Rise}}, fall: {{.Fall}},
    send: '{{escape .Send}}', expect: '{{escape .Expect}}'}
  passive: {failures: 1, eject: {{.Eject}}}
  timeouts: {idle: 0s, user: {{.Dead}}, keepalive: {{ms .Dead}}ms}
  on_down: {{if .Close}}close{{else}}keep{{end}}
{{- end}}
services:
{{- range .Services}}
  - name: {{.Name}}
    listen: {{.Listen}}
    {{- if .Hash}}
    balance: source-hash
    {{- end}}
    backends: [{{join .Backends ", "}}]
{{- end}}
`

// A dial that fails marks a server down at once (observe), and is made at another server
// at once (redispatch 1). Keepalive: probes begin after a quarter of the time, and there
// are three.
const haproxyFailover = `global
    nbthread {{.Threads}}
    maxconn {{.Sessions}}

defaults
    mode tcp
    option splice-auto
    maxconn {{.Sessions}}
    timeout client 1h
    timeout server 1h
{{- with .Failover}}
    timeout connect {{ms .Connect}}ms
    timeout check {{ms .Timeout}}ms
    retries 3
    option redispatch 1
    option clitcpka
    option srvtcpka
    option tcp-check
    tcp-check connect
    tcp-check send-binary {{hex .Send}}
    tcp-check expect binary {{hex .Expect}}
    default-server check inter {{ms .Interval}}ms rise {{.Rise}} fall {{.Fall}} observe layer4 error-limit 1 on-error mark-down
    default-server tcp-ut {{ms .Dead}}ms{{if .Close}} on-marked-down shutdown-sessions{{end}}
{{- end}}
{{range $s := .Services}}
listen {{.Name}}
    bind {{.Listen}} backlog 4096 tcp-ut {{ms $.Failover.Dead}}ms
    {{- if .Hash}}
    balance source
    hash-type consistent
    {{- else}}
    balance roundrobin
    {{- end}}
{{- range $i, $addr := .Backends}}
    server b{{$i}} {{$addr}}
{{- end}}
{{end}}`

// The zone makes workers share what they know of backends. nginx takes whole seconds for
// fail_timeout only.
const nginxFailover = `{{if .StreamModule}}load_module {{.StreamModule}};
{{end}}{{if .Root}}user root;
{{end}}daemon off;
pid {{.Dir}}/nginx.pid;
error_log {{.Dir}}/error.log crit;
worker_processes {{.Threads}};
worker_rlimit_nofile {{.Descriptors}};
events { worker_connections {{.Descriptors}}; }
stream {
    proxy_connect_timeout {{ms .Failover.Connect}}ms;
    proxy_timeout 1h;
    proxy_socket_keepalive on;
    access_log off;
{{- range .Services}}
    upstream {{.Name}} {
        zone {{.Name}} 256k;
        {{- if .Hash}}
        hash $remote_addr consistent;
        {{- end}}
{{- range .Backends}}
        server {{.}} max_fails=1 fail_timeout={{seconds $.Failover.Eject}}s;
{{- end}}
    }
    server { listen {{.Listen}} backlog=4096 so_keepalive=on; proxy_pass {{.Name}}; }
{{- end}}
}
`
