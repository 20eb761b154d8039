package l4

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// ErrPaused is returned for a pause that is not one.
var ErrPaused = errors.New("l4: a pause needs a time above 0")

// pausing is a service that lets clients wait.
type pausing struct {
	until atomic.Int64 // on the service's clock; 0 = it does not

	mu    sync.Mutex // guards the rest
	timer *time.Timer
}

// Pause has new clients wait, whatever the backends do, until Resume; but at most for the
// given time, so that a service is never forgotten. Sessions go on, and so do dials under
// way. A second Pause sets the time anew. The error is ErrPaused or ErrServiceClosed.
func (s *Service) Pause(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%w, not %v", ErrPaused, d)
	}
	if s.isClosing() {
		return ErrServiceClosed
	}
	p := &s.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	until := s.now() + d
	p.until.Store(int64(until))
	p.timer = time.AfterFunc(d, func() { s.pauseOver(until) })
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "paused", slog.String("service", s.name), slog.String("for", d.String()))
	return nil
}

// Resume lets the clients go on that a Pause made wait, and new ones. It returns whether
// the service was paused.
func (s *Service) Resume() bool { return s.resume("asked to") }

// pauseOver ends the pause that was to last until then, unless it has become another one.
func (s *Service) pauseOver(until time.Duration) {
	s.resumeFrom(until, "the time of the pause is over")
}

func (s *Service) resume(reason string) bool { return s.resumeFrom(0, reason) }

// resumeFrom ends the pause that lasts until then; 0 is any.
func (s *Service) resumeFrom(until time.Duration, reason string) bool {
	p := &s.pausing
	p.mu.Lock()
	if until != 0 && s.pausedUntil() != until {
		p.mu.Unlock()
		return false
	}
	was := p.until.Swap(0) != 0
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.mu.Unlock()
	if was {
		s.log.LogAttrs(context.Background(), slog.LevelInfo, "resumed", slog.String("service", s.name),
			slog.String("reason", reason), slog.Int("held", int(s.room.n.Load())))
		// All of them: if there is no backend they wait for another reason from now on, or
		// not at all.
		s.room.events.Add(1)
		s.room.next(s.room.most)
	}
	return was
}

// paused tells whether new clients are to wait.
func (s *Service) paused() bool { return s.pausing.until.Load() != 0 }

// pausedUntil returns when the pause is over at the latest, on the service's clock.
func (s *Service) pausedUntil() time.Duration { return time.Duration(s.pausing.until.Load()) }
