package l4

import (
	"net/netip"
	"runtime"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// SessionInfo is what a session is at one instant.
type SessionInfo struct {
	ID       uint64         // grows by one with each session of the service
	Client   netip.AddrPort // invalid over a Unix socket
	Backend  string         // "" = it has none yet
	Phase    Phase
	Start    time.Time
	Attempts int      // 0 until it is relayed
	Moved    [2]int64 // payload by relay.Direction

	at *Backend
}

// Phase is where in its life a session is.
type Phase string

// The phases.
const (
	Connecting Phase = "connecting"
	Held       Phase = "held" // it waits for a backend
	Relaying   Phase = "relaying"
)

// Sessions returns the sessions that keep selects, the newest first. Those that begin
// meanwhile are not among them. keep must not call the service.
func (s *Service) Sessions(keep func(SessionInfo) bool) (all []SessionInfo) {
	s.walk(func(sess *Session) {
		if i := sess.info(); keep(i) {
			all = append(all, i)
		}
	})
	return all
}

// Kill resets the sessions that pick selects, and returns how many those were. It is not
// kept from those that begin meanwhile. pick must not call the service.
func (s *Service) Kill(pick func(SessionInfo) bool) int {
	return s.end(relay.End{Who: relay.Operator, Why: relay.Killed}, pick)
}

func (s *Service) end(e relay.End, pick func(SessionInfo) bool) (n int) {
	s.walk(func(sess *Session) {
		if pick(sess.info()) && sess.kill(e) {
			n++
		}
	})
	return n
}

// info reads the session. With the service's mutex held.
func (sess *Session) info() SessionInfo {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	i := SessionInfo{ID: sess.id, Client: sess.client, Phase: Connecting, Start: sess.svc.at(sess.start)}
	if b := sess.serving.Load(); b != nil {
		i.Backend, i.at = b.cfg.Name, b
	}
	switch {
	case sess.relayed != 0:
		i.Phase, i.Attempts = Relaying, sess.attempts
		for d := range i.Moved {
			i.Moved[d] = sess.relay.Moved(relay.Direction(d))
		}
	case sess.waits:
		i.Phase = Held
	}
	return i
}

// walkAtOnce is how many sessions are looked at with the mutex held: sessions that begin and
// end need it too.
const walkAtOnce = 256

// walk calls f with each session, with the mutex held, which it lets go of now and then: a
// mark in the list keeps the place. Sessions that end meanwhile may be missed, none is seen
// twice.
func (s *Service) walk(f func(*Session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var mark Session // its service is nil
	for next := s.sessions.first; next != nil; {
		for n := 0; n < walkAtOnce && next != nil; n++ {
			if next.svc != nil {
				f(next)
			}
			next = next.following
		}
		if next == nil {
			return
		}
		s.sessions.mark(&mark, next)
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
		next = mark.following
		s.sessions.unlink(&mark)
	}
}
