package config

import "slices"

// key is one key of a block: its name in the file and where its value is kept.
//
// value is a *string, *textOrNumber, *int, *bool, *time.Duration, *[]netip.Prefix, *oneOrMore, *[]Backend, *[]Step, *services, a block, or a
// **Admin, **AdminTLS or **TLS, which are nil while the key is absent.
type key struct {
	name  string
	value any
	types []string // check types that have the key; nil = all
}

// block is a mapping with known keys, in the order they are documented and printed.
type block interface {
	keys() []key
}

// textOrNumber is a text that may look like a number: 200, for one, is a list of status codes.
type textOrNumber string

// oneOrMore is a list that may be written as its only element.
type oneOrMore []string

// root is the file itself. Defaults stand before services, for services start from them.
type root struct {
	*File
	defaults *serviceDefaults
}

func (r *root) keys() []key {
	return []key{
		{name: "admin", value: &r.Admin},
		{name: "log", value: &r.Log},
		{name: "shutdown_timeout", value: &r.ShutdownTimeout},
		{name: "shutdown_delay", value: &r.ShutdownDelay},
		{name: "state_dir", value: &r.StateDir},
		{name: "defaults", value: r.defaults},
		{name: "services", value: (*services)(&r.Services)},
	}
}

type services []Service

// serviceDefaults is a service without the keys that only a service can have.
type serviceDefaults Service

func (s *serviceDefaults) keys() []key {
	return slices.DeleteFunc((*Service)(s).keys(), func(k key) bool { return slices.Contains(serviceOnly, k.name) })
}

var serviceOnly = []string{"name", "listen", "backends"}

func (a *Admin) keys() []key {
	return []key{{name: "listen", value: &a.Listen}, {name: "token", value: &a.Token}, {name: "tls", value: &a.TLS}}
}

func (t *AdminTLS) keys() []key {
	return []key{{name: "cert", value: &t.Cert}, {name: "key", value: &t.Key}, {name: "client_ca", value: &t.ClientCA}}
}

func (l *Log) keys() []key {
	return []key{
		{name: "level", value: &l.Level},
		{name: "format", value: &l.Format},
		{name: "sessions", value: &l.Sessions},
	}
}

func (s *Service) keys() []key {
	return []key{
		{name: "name", value: &s.Name},
		{name: "listen", value: (*oneOrMore)(&s.Listen)},
		{name: "balance", value: &s.Balance},
		{name: "backends", value: &s.Backends},
		{name: "connect", value: &s.Connect},
		{name: "timeouts", value: &s.Timeouts},
		{name: "check", value: &s.Check},
		{name: "passive", value: &s.Passive},
		{name: "on_down", value: &s.OnDown},
		{name: "close_over", value: &s.CloseOver},
		{name: "slow_start", value: &s.SlowStart},
		{name: "drain_timeout", value: &s.DrainTimeout},
		{name: "proxy_protocol", value: &s.ProxyProtocol},
		{name: "allow", value: &s.Allow},
		{name: "deny", value: &s.Deny},
		{name: "limits", value: &s.Limits},
	}
}

func (b *Backend) keys() []key {
	return []key{
		{name: "address", value: &b.Address},
		{name: "name", value: &b.Name},
		{name: "weight", value: &b.Weight},
		{name: "priority", value: &b.Priority},
		{name: "max_connections", value: &b.MaxConnections},
	}
}

func (c *Connect) keys() []key {
	return []key{
		{name: "timeout", value: &c.Timeout},
		{name: "attempts", value: &c.Attempts},
		{name: "hedge_after", value: &c.HedgeAfter},
		{name: "hold", value: &c.Hold},
		{name: "replay", value: &c.Replay},
	}
}

func (t *Timeouts) keys() []key {
	return []key{
		{name: "idle", value: &t.Idle},
		{name: "half_close", value: &t.HalfClose},
		{name: "user", value: &t.User},
		{name: "keepalive", value: &t.Keepalive},
	}
}

func (c *Check) keys() []key {
	http := []string{"http"}
	login := []string{"redis", "postgres", "mysql"}
	text := []string{"send-expect"}
	return []key{
		{name: "type", value: &c.Type},
		{name: "interval", value: &c.Interval},
		{name: "timeout", value: &c.Timeout},
		{name: "rise", value: &c.Rise},
		{name: "fall", value: &c.Fall},
		{name: "port", value: &c.Port},
		{name: "method", value: &c.Method, types: http},
		{name: "path", value: &c.Path, types: http},
		{name: "host", value: &c.Host, types: http},
		{name: "status", value: (*textOrNumber)(&c.Status), types: http},
		{name: "user", value: &c.User, types: login},
		{name: "password", value: &c.Password, types: login},
		{name: "database", value: &c.Database, types: []string{"postgres"}},
		{name: "role", value: &c.Role, types: login},
		{name: "conflict", value: &c.Conflict, types: login},
		{name: "send", value: &c.Send, types: text},
		{name: "expect", value: &c.Expect, types: text},
		{name: "regexp", value: &c.Regexp, types: text},
		{name: "steps", value: &c.Steps, types: text},
		{name: "tls", value: &c.TLS, types: []string{"http", "redis", "postgres", "mysql", "send-expect"}},
	}
}

// has tells whether a key is one of c's type and role.
func (c *Check) has(k key) bool {
	if k.name == "conflict" && !c.writer() {
		return false
	}
	return k.types == nil || slices.Contains(k.types, c.Type)
}

// writer tells whether the check asks for the one that takes writes.
func (c *Check) writer() bool { return c.Role == "master" || c.Role == "primary" }

// settle takes back what defaults said for a role that the check has not.
func (c *Check) settle() {
	if c.Conflict != "" && !c.writer() {
		c.Conflict = conflictDefault
	}
}

// conflictDefault goes with roles for which it means nothing, too.
const conflictDefault = "keep"

func (s *Step) keys() []key {
	return []key{{name: "send", value: &s.Send}, {name: "expect", value: &s.Expect}, {name: "regexp", value: &s.Regexp}}
}

func (t *TLS) keys() []key {
	return []key{
		{name: "server_name", value: &t.ServerName},
		{name: "ca", value: &t.CA},
		{name: "insecure", value: &t.Insecure},
	}
}

func (p *Passive) keys() []key {
	return []key{{name: "failures", value: &p.Failures}, {name: "eject", value: &p.Eject}}
}

func (p *ProxyProtocol) keys() []key {
	return []key{
		{name: "send", value: &p.Send},
		{name: "accept", value: &p.Accept},
		{name: "accept_timeout", value: &p.AcceptTimeout},
	}
}

func (l *Limits) keys() []key {
	return []key{
		{name: "connections", value: &l.Connections},
		{name: "per_source", value: &l.PerSource},
		{name: "rate_per_source", value: &l.RatePerSource},
	}
}
