package l4

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// Errors of this package.
var (
	ErrServiceClosed = errors.New("l4: service closed")
	ErrConfig        = errors.New("l4: invalid config")
)

// Config is a Service's configuration. The zero value of each field but Name is
// usable.
type Config struct {
	Name    string        // required
	Balance string        // a policy of package picker; "" = round-robin
	Connect ConnectConfig // how backends are dialled
	Limits  relay.Limits  // a session's inactivity, and TCP_USER_TIMEOUT of both legs

	KeepAlive time.Duration // TCP keepalive idle time and interval of both legs, 4 probes; 0 = off

	Proxy       ProxyConfig
	Allow, Deny []netip.Prefix // client addresses; Deny wins, an empty Allow allows all

	MaxConnections int // sessions at one time; 0 = no limit
	MaxPerSource   int // sessions of one client address (of one /64 with IPv6); 0 = no limit

	Engine      relay.Engine // nil = a relay.Portable of its own; the caller closes its own one
	Descriptors *Descriptors // the process's budget; nil = not counted

	Log        *slog.Logger // nil discards; a handler that waits holds up sessions
	SessionLog SessionLog   // which sessions are logged at their end; "" = errors
}

// ConnectConfig bounds the dialling for one client.
type ConnectConfig struct {
	Timeout  time.Duration // of one dial; 0 = the system's
	Attempts int           // distinct backends tried; 0 = every usable one once
}

// ProxyConfig is the PROXY protocol's part.
type ProxyConfig struct {
	Send          int            // version of the header sent to backends: 1, 2, or 0 = none
	Accept        []netip.Prefix // peers that must send a header; from others its bytes are payload
	AcceptTimeout time.Duration  // from accept to the complete header; 0 = no bound
}

// SessionLog selects the sessions that are logged.
type SessionLog string

// The choices. LogErrors logs what did not end in order; of clients that are turned
// away before a backend is picked it logs one a second for each reason and counts
// the others.
const (
	LogAll    SessionLog = "all"
	LogErrors SessionLog = "errors"
	LogOff    SessionLog = "off"
)

// withDefaults returns a validated copy.
func (c Config) withDefaults() (Config, error) {
	if c.Balance == "" {
		c.Balance = picker.RoundRobin
	}
	if c.SessionLog == "" {
		c.SessionLog = LogErrors
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Engine == nil {
		c.Engine = &relay.Portable{}
	}
	c.Allow, c.Deny = unmapped(c.Allow), unmapped(c.Deny)
	c.Proxy.Accept = unmapped(c.Proxy.Accept)
	return c, c.fault()
}

func (c Config) fault() error {
	for _, f := range []struct {
		wrong bool
		what  string
	}{
		{c.Name == "", "a service needs a name"},
		{!slices.Contains(picker.Policies(), c.Balance), "unknown policy " + c.Balance},
		{!slices.Contains([]SessionLog{LogAll, LogErrors, LogOff}, c.SessionLog), "unknown session log " + string(c.SessionLog)},
		{c.Proxy.Send < 0 || c.Proxy.Send > 2, "the PROXY protocol has versions 1 and 2"},
		{min(c.Connect.Timeout, c.KeepAlive, c.Limits.User, c.Proxy.AcceptTimeout) < 0, "a duration is negative"},
		{min(c.Connect.Attempts, c.MaxConnections, c.MaxPerSource) < 0, "a limit is negative"},
	} {
		if f.wrong {
			return fmt.Errorf("%w: service %q: %s", ErrConfig, c.Name, f.what)
		}
	}
	return nil
}

// BackendConfig describes a backend to a Pool.
type BackendConfig struct {
	Address        string // host:port, or unix:/path
	Name           string // unique in its pool; "" = Address
	Weight         int    // 1 to 256; 0 = no new sessions
	Priority       int    // lower is used first
	MaxConnections int    // sessions at one time, dials included; 0 = no limit
}
