package l4

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
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

	// Conflict, where probes ask for the one backend that takes writes, says what is done
	// when several claim to be it. "" = any number of backends may be used; else never
	// more than one, and none that is not known to be up.
	Conflict Conflict
	// OnDown says what becomes of the sessions of a backend that its probes call down, or
	// that loses the writer's place; "" = OnDownKeep. Nothing else closes them.
	OnDown    OnDown
	CloseOver time.Duration // with OnDownClose: how long the closing is spread over; 0 = at once
	SlowStart time.Duration // how long a backend's weight climbs when it comes back; 0 = it does not

	// Transition hears of every change of a backend's state, nil = nobody does. It is
	// called with a lock held that sessions need: it must not wait, nor call the service.
	Transition func(Transition)

	// Decision hears of every session that failed for want of a backend, waited for one or was
	// retried, at its end; nil = nobody does. It is called on the path of sessions and must
	// not wait.
	Decision func(Decision)

	// Outage hears of the begin of every outage and of its end, nil = nobody does. The same
	// holds for it as for Transition.
	Outage func(Outage)

	IDs *atomic.Uint64 // the number of the newest session of several services; nil = this one counts its own

	MaxConnections int // sessions at one time; 0 = no limit
	MaxPerSource   int // sessions of one client address (of one /64 with IPv6); 0 = no limit
	// Rate tells whether one more client of an address may come, and counts it; nil = there
	// is no limit. It is called on the path of sessions and must not wait.
	Rate    func(netip.Addr) bool
	MaxHeld int // clients that wait for a backend at one time; 0 = 10,000

	Engine      relay.Engine // nil = a relay.Portable of its own; the caller closes its own one
	Descriptors *Descriptors // the process's budget; nil = not counted

	Log        *slog.Logger // nil discards; a handler that waits holds up sessions
	SessionLog SessionLog   // which sessions are logged at their end; "" = errors
}

// ConnectConfig bounds the dialling for one client.
type ConnectConfig struct {
	Timeout  time.Duration // of one dial; 0 = the system's
	Attempts int           // distinct backends tried, but for those taken out of use meanwhile; 0 = every usable one once
	// HedgeAfter is for how long one backend may be silent before another is dialled too;
	// the first to answer has the session. 0 = never.
	HedgeAfter time.Duration
	// Hold is how long a client may wait, in all, while no backend is to be had; 0 = it
	// is refused at once.
	Hold time.Duration
	// Replay is how many bytes of the client's first words are kept until the backend's
	// first byte: a backend that ends the session before that costs the client nothing,
	// another gets the same words. Only where repeating them is safe. 0 = none.
	Replay int
}

// OnDown says what becomes of a backend's sessions when it goes down.
type OnDown string

// The choices.
const (
	OnDownKeep  OnDown = "keep"
	OnDownClose OnDown = "close" // they are reset, the oldest first
)

// defaultMaxHeld bounds the clients of a service that wait for a backend. Each costs some
// 10 KB beside its descriptor.
const defaultMaxHeld = 10_000

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
	if c.OnDown == "" {
		c.OnDown = OnDownKeep
	}
	if c.IDs == nil {
		c.IDs = &atomic.Uint64{}
	}
	if c.MaxHeld == 0 {
		c.MaxHeld = defaultMaxHeld
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
		{!slices.Contains([]Conflict{"", ConflictNone, ConflictKeep, ConflictFirst}, c.Conflict), "unknown conflict " + string(c.Conflict)},
		{!slices.Contains([]OnDown{OnDownKeep, OnDownClose}, c.OnDown), "unknown on-down " + string(c.OnDown)},
		{min(c.Connect.Timeout, c.Connect.HedgeAfter, c.Connect.Hold, c.KeepAlive, c.Limits.User, c.Proxy.AcceptTimeout, c.CloseOver, c.SlowStart) < 0,
			"a duration is negative"},
		{min(c.Connect.Attempts, c.Connect.Replay, c.MaxConnections, c.MaxPerSource, c.MaxHeld) < 0, "a limit is negative"},
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
