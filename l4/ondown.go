package l4

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// withdrawn hears that b may serve no session any more. With the pool's mutex held, and
// never once the pool is closed: somebody waits for the closings then.
func (s *Service) withdrawn(b *Backend) {
	cfg := s.cfg()
	closes := cfg.OnDown == OnDownClose
	// With nowhere else to go a session is better off with a backend that may answer still.
	// A session may have begun when its words were still kept.
	diverts := closes || cfg.Connect.Replay > 0 && s.pool.usable > 0
	if !closes && !diverts {
		return
	}
	s.closings.Go(func() {
		if diverts {
			s.divertAll(b)
		}
		if closes {
			s.closeAll(b)
		}
	})
}

// divertAll has the sessions go on with another backend that have not heard a byte of b
// yet, and have kept what they said.
func (s *Service) divertAll(b *Backend) {
	for _, h := range s.sessionsOf(b) {
		s.mu.Lock()
		if h.still() {
			h.sess.divert(b)
		}
		s.mu.Unlock()
	}
}

// closeAll resets the sessions that b has, the oldest first, spread over the time that is
// configured. It stops if b comes back meanwhile. A session that is not found here has yet
// to ask whether b is barred.
func (s *Service) closeAll(b *Backend) {
	began, closed := time.Now(), 0
	held, over := s.sessionsOf(b), s.cfg().CloseOver
	for i, h := range held {
		if !s.pause(b, time.Until(began.Add(over*time.Duration(i)/time.Duration(len(held))))) {
			break
		}
		if s.closeOne(h, b) {
			closed++
		}
	}
	if closed > 0 {
		s.log.LogAttrs(context.Background(), slog.LevelInfo, "sessions closed", slog.String("service", s.name),
			slog.String("backend", b.cfg.Name), slog.String("reason", relay.BackendDown.String()),
			slog.Int("sessions", closed), slog.String("over", time.Since(began).Round(time.Millisecond).String()))
	}
}

// pause waits, and tells whether b is still to be closed.
func (s *Service) pause(b *Backend, d time.Duration) bool {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-s.ctx.Done():
			return false // all are killed
		}
	}
	return b.fallen.Load()
}

// holding is a session and when it began, which tells it from the next one that has its
// record.
type holding struct {
	sess  *Session
	start time.Duration
}

// still tells whether it is the same session. With the service's mutex held.
func (h holding) still() bool { return h.sess.listed && h.sess.start == h.start }

// sessionsOf returns the sessions that b has accepted, the oldest first.
func (s *Service) sessionsOf(b *Backend) (all []holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sess := range s.sessions.all {
		if sess.servedBy(b) {
			all = append(all, holding{sess, sess.start})
		}
	}
	slices.Reverse(all)
	return all
}

// closeOne resets a session of b, if it still is one. With the mutex held it cannot end
// meanwhile and its record become another's.
func (s *Service) closeOne(h holding, b *Backend) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.still() && h.sess.killAt(b, relay.End{Who: relay.Sluice, Why: relay.BackendDown})
}

// serving is the backend that a session has been connected to. It is set, with the
// session's mutex held, only if the backend is not barred then; and a backend is barred
// before its sessions are looked for, with that mutex: one of the two sees the other.
type serving struct{ atomic.Pointer[Backend] }

// serve makes the session b's, unless b is barred.
func (sess *Session) serve(b *Backend) bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if b.barred.Load() {
		return false
	}
	sess.serving.Store(b)
	if sess.cfg.Connect.Replay > 0 {
		sess.flight = flying
	}
	return true
}

func (sess *Session) servedBy(b *Backend) bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.serving.Load() == b
}

// killAt ends a session of b; false if it is not, was killed before, or is in its first
// flight: that was diverted, and ends itself if it cannot be.
func (sess *Session) killAt(b *Backend, e relay.End) bool {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.serving.Load() == b && sess.flight == grounded && sess.killNow(e)
}
