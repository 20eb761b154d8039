package l4

import (
	"fmt"
	"net"

	"github.com/sluicelb/sluice/l4/relay"
)

// settings are a configuration in force, and what is derived from it. A session keeps
// those that it began with.
type settings struct {
	Config
	dialer net.Dialer
}

func newSettings(c Config) *settings { return &settings{Config: c, dialer: newDialer(c.Connect)} }

// cfg returns the settings in force.
func (s *Service) cfg() *settings { return s.live.Load() }

// Reconfigure has new sessions begin with cfg; those that are there keep what they began
// with, but for OnDown and CloseOver. Name, Engine, Descriptors, Log, MaxHeld and
// Transition stay as they are, whatever cfg says. The options of the clients' sockets are
// those that each Serve began with. Backends keep everything. Errors wrap ErrConfig, or
// come from a policy that cannot have the backends: nothing has changed then.
func (s *Service) Reconfigure(cfg Config) error {
	was := s.cfg().Config
	cfg.Name, cfg.Engine, cfg.Descriptors, cfg.Log = was.Name, was.Engine, was.Descriptors, was.Log
	cfg.MaxHeld, cfg.Transition, cfg.Decision, cfg.Outage, cfg.IDs = was.MaxHeld, was.Transition, was.Decision, was.Outage, was.IDs
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	next := newSettings(cfg)
	return s.pool.reconfigure(cfg, func() { s.live.Store(next) })
}

// reconfigure is the pool's part; then has the rest follow. With an error, nothing has
// changed.
func (p *Pool) reconfigure(c Config, then func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrServiceClosed
	}
	v := p.draft()
	if err := v.complete(c.Balance); err != nil {
		return fmt.Errorf("%w: balance %s: %w", ErrConfig, c.Balance, err)
	}
	p.rules, p.balance, p.over = rulesOf(c), c.Balance, c.SlowStart
	then()
	p.settle(nil, Cause{Source: sourceAdmin, Reason: "the configuration changed"}, func() (*note, bool) { return nil, true })
	return nil
}

// rules are what a configuration says of the states of backends.
type rules struct {
	// strict has no session begin on a backend that its probes call down, even if it
	// was chosen before.
	strict   bool
	conflict Conflict
}

func rulesOf(c Config) rules {
	return rules{
		strict:   c.OnDown == OnDownClose || c.Conflict != "" || c.Connect.Replay > 0,
		conflict: c.Conflict,
	}
}

// sockets are the options of sockets for an engine that makes them.
func (c *settings) sockets() relay.Sockets {
	return relay.Sockets{KeepAlive: c.KeepAlive, Probes: keepAliveProbes, User: c.Limits.User}
}
