package config

import (
	"net/netip"
	"time"
)

// File is a whole configuration. What `defaults` said is already applied to every service. Lists that are empty are nil,
// and lists that services inherit are shared: they are for reading.
type File struct {
	Admin           *Admin // nil: no admin page
	Log             Log
	ShutdownTimeout time.Duration // bound of a drain; 0 waits for the last session
	ShutdownDelay   time.Duration // before the drain: not ready, but still accepting; 0 = none
	StateDir        string        // "" keeps transitions in memory only
	Services        []Service     // at least one
}

// Admin says where the admin page, metrics and API are served.
type Admin struct {
	Listen string    // host:port or unix:PATH; beyond loopback only with a Token or a TLS.ClientCA
	Token  string    // "" = none, env:NAME or file:PATH
	TLS    *AdminTLS // nil: plain HTTP
}

// AdminTLS is the certificate of the admin page, and whose clients it takes.
type AdminTLS struct {
	Cert, Key string // PEM files: the certificate with its chain, and its private key
	ClientCA  string // PEM file of who signs clients' certificates, which are then required; "" = none are asked for
}

// Log says what is logged and how.
type Log struct {
	Level    string // debug, info, warn, error
	Format   string // json, text
	Sessions string // all, errors, off
}

// Service is one balanced service: where clients come in, and where they go.
type Service struct {
	Name          string   // unique in the file
	Listen        []string // at least one of host:port (port 0 picks one), unix:PATH or fd:NAME
	Balance       string   // one of Balances
	Backends      []Backend
	Connect       Connect
	Timeouts      Timeouts
	Check         Check
	Passive       Passive
	OnDown        string        // keep, close
	CloseOver     time.Duration // with OnDown close: how long the closing is spread over
	SlowStart     time.Duration // how long the weight climbs after a backend comes back; 0 = at once
	DrainTimeout  time.Duration // how long the sessions of a backend, or of a service, that is removed may go on; 0 = no bound
	ProxyProtocol ProxyProtocol
	Allow, Deny   []netip.Prefix // masked; an empty Allow lets everyone in
	Limits        Limits
}

// Backend is one place a session can go.
type Backend struct {
	Address        string // host:port or unix:PATH
	Name           string // unique in the service; the address if the file gives none
	Weight         int    // 0 to 256; 0 = no new sessions
	Priority       int    // 0 is used first, a higher number only while no lower one is usable
	MaxConnections int    // 0 = no limit
}

// Connect bounds what is done to reach a backend for one client.
type Connect struct {
	Timeout    time.Duration // of one dial; 0 = the system's
	Attempts   int           // distinct backends tried; 0 = every usable one once
	HedgeAfter time.Duration // 0 = never
	Hold       time.Duration // 0 = refuse at once
	Replay     int           // bytes
}

// Timeouts of a session; 0 turns one off.
type Timeouts struct {
	Idle, HalfClose, User, Keepalive time.Duration
}

// Check is the active probe of a service's backends. Keys that the type does not have are zero.
type Check struct {
	Type              string        // tcp, http, redis, postgres, mysql, send-expect, none
	Interval, Timeout time.Duration // above 0
	Rise, Fall        int           // at least 1
	Port              int           // 0 = the backend's own

	Method, Path, Host string // http; an empty Host is the backend's address
	Status             string // http; see Check.StatusRanges

	User, Password string // redis, postgres, mysql
	Database       string // postgres
	Role           string // redis, postgres, mysql
	Conflict       string // where there is a Role

	Step         // send-expect of one step
	Steps []Step // send-expect of several; nil: the one above

	TLS *TLS // nil: no TLS
}

// Step is one turn of a send-expect check: it sends, then waits for what it expects.
type Step struct {
	Send, Expect string // with Go's escapes
	Regexp       string // in place of Expect
}

// TLS says how a probe checks its backend's certificate.
type TLS struct {
	ServerName string // "" = the backend's host
	CA         string // PEM file; "" = the system's roots
	Insecure   bool   // accept any certificate
}

// Passive says when dials that fail eject a backend.
type Passive struct {
	Failures int           // consecutive; 0 = never
	Eject    time.Duration // at most a minute; 0 = never
}

// ProxyProtocol says which PROXY headers are sent and accepted.
type ProxyProtocol struct {
	Send          string         // none, v1, v2
	Accept        []netip.Prefix // peers that must send a header; from others it is payload
	AcceptTimeout time.Duration  // from accept to the whole header; 0 = no bound
}

// Limits of a service; 0 = none.
type Limits struct {
	Connections   int
	PerSource     int
	RatePerSource int // new connections a second
}

// Defaults returns what a service has where neither it nor the file's `defaults` say otherwise. Name, Listen and
// Backends have no default.
func Defaults() Service {
	return Service{
		Balance:       "round-robin",
		Connect:       Connect{Timeout: 3 * time.Second},
		Timeouts:      Timeouts{HalfClose: 5 * time.Minute, User: 30 * time.Second, Keepalive: 15 * time.Second},
		Check:         Check{Type: "tcp", Interval: 2 * time.Second, Timeout: time.Second, Rise: 2, Fall: 3},
		Passive:       Passive{Failures: 1, Eject: 5 * time.Second},
		OnDown:        "keep",
		DrainTimeout:  30 * time.Second,
		ProxyProtocol: ProxyProtocol{Send: "none", AcceptTimeout: 3 * time.Second},
	}
}

// fileDefaults is Defaults for the keys outside of services.
func fileDefaults() File {
	return File{
		Log:             Log{Level: "info", Format: "json", Sessions: "errors"},
		ShutdownTimeout: 30 * time.Second,
	}
}

func backendDefaults() Backend {
	return Backend{Weight: 1}
}

// inherited returns a copy of s for a service to decode over. Lists are shared: decoding replaces them, and nobody changes
// them after. TLS is decoded in place.
func (s Service) inherited() Service {
	if s.Check.TLS != nil {
		tls := *s.Check.TLS
		s.Check.TLS = &tls
	}
	return s
}

// retyped returns c as another type: what every type has stays, the rest becomes the default of the new type, for a
// path written for http means nothing to another protocol.
func (c Check) retyped(typ string) Check {
	n := Check{Type: typ, Interval: c.Interval, Timeout: c.Timeout, Rise: c.Rise, Fall: c.Fall, Port: c.Port}
	switch typ {
	case "http":
		n.Method, n.Path, n.Status = "GET", "/health", "200-399"
	case "redis", "postgres", "mysql":
		n.Role, n.Conflict = "any", conflictDefault
	}
	return n
}
