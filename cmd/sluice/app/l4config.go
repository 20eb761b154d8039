package app

import (
	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/cmd/sluice/ratelimit"
	"github.com/sluicelb/sluice/l4"
	"github.com/sluicelb/sluice/l4/relay"
)

// l4Config is a service of the file as the data path has it. Which sessions are logged is the
// file's.
func (a *App) l4Config(c config.Service, logged string, limiter *ratelimit.Limiter) l4.Config {
	cfg := l4.Config{
		Name:    c.Name,
		Balance: c.Balance,
		Connect: l4.ConnectConfig{
			Timeout: c.Connect.Timeout, Attempts: c.Connect.Attempts, HedgeAfter: c.Connect.HedgeAfter,
			Hold: c.Connect.Hold, Replay: c.Connect.Replay,
		},
		Conflict:       conflictOf(c.Check),
		OnDown:         l4.OnDown(c.OnDown),
		CloseOver:      c.CloseOver,
		SlowStart:      c.SlowStart,
		Limits:         relay.Limits{Idle: c.Timeouts.Idle, HalfClose: c.Timeouts.HalfClose, User: c.Timeouts.User},
		KeepAlive:      c.Timeouts.Keepalive,
		Proxy:          l4.ProxyConfig{Send: sendVersion(c), Accept: c.ProxyProtocol.Accept, AcceptTimeout: c.ProxyProtocol.AcceptTimeout},
		Allow:          c.Allow,
		Deny:           c.Deny,
		MaxConnections: c.Limits.Connections,
		MaxPerSource:   c.Limits.PerSource,
		Engine:         a.engine,
		Descriptors:    a.budget,
		Log:            a.log,
		SessionLog:     l4.SessionLog(logged),
		Transition:     a.remember,
		Decision:       a.failed.add,
		Outage:         a.outage,
		IDs:            &a.sessionIDs,
	}
	if c.Limits.RatePerSource > 0 {
		cfg.Rate = limiter.Allow
	}
	return cfg
}

// sendVersion returns the version of the PROXY header that backends get; 0 = none.
func sendVersion(c config.Service) int {
	return map[string]int{"v1": 1, "v2": 2}[c.ProxyProtocol.Send]
}
