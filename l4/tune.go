package l4

import (
	"net"

	"github.com/sluicelb/sluice/l4/relay"
)

// keepAliveProbes is how many keepalive probes may go unanswered.
const keepAliveProbes = 4

// tune sets the configured socket options on a leg. That one cannot be set is logged
// once: the session works without.
func (s *Service) tune(c relay.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	ka := net.KeepAliveConfig{Enable: s.cfg.KeepAlive > 0, Idle: s.cfg.KeepAlive, Interval: s.cfg.KeepAlive, Count: keepAliveProbes}
	err := t.SetKeepAliveConfig(ka)
	if err == nil && s.cfg.Limits.User > 0 {
		err = relay.SetUserTimeout(c, s.cfg.Limits.User)
	}
	if err != nil && !relay.Dead(c) {
		s.sayNotTuned(err)
	}
}

func (s *Service) sayNotTuned(err error) {
	s.tuneErr.Do(func() {
		s.log.Warn("socket option not set", "service", s.cfg.Name, "error", err.Error())
	})
}

// sockets are the same options for an engine that makes the sockets.
func (s *Service) sockets() relay.Sockets {
	return relay.Sockets{KeepAlive: s.cfg.KeepAlive, Probes: keepAliveProbes, User: s.cfg.Limits.User}
}
