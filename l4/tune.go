package l4

import (
	"net"

	"github.com/sluicelb/sluice/l4/relay"
)

// keepAliveProbes is how many keepalive probes may go unanswered.
const keepAliveProbes = 4

// tune sets the configured socket options on a leg. That one cannot be set is logged
// once: the session works without.
func (sess *Session) tune(c relay.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	ka := net.KeepAliveConfig{Enable: sess.cfg.KeepAlive > 0, Idle: sess.cfg.KeepAlive, Interval: sess.cfg.KeepAlive, Count: keepAliveProbes}
	err := t.SetKeepAliveConfig(ka)
	if err == nil && sess.cfg.Limits.User > 0 {
		err = relay.SetUserTimeout(c, sess.cfg.Limits.User)
	}
	if err != nil && !relay.Dead(c) {
		sess.svc.sayNotTuned(err)
	}
}

func (s *Service) sayNotTuned(err error) {
	s.tuneErr.Do(func() {
		s.log.Warn("socket option not set", "service", s.name, "error", err.Error())
	})
}
