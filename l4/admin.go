package l4

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// sourceAdmin is a Cause's source when people decide.
const sourceAdmin = "admin"

// SetAdmin records what people want of b, and tells whether that is a change. Its sessions
// go on in each state; but in a pool with one writer, see Config.OnDown for when another one
// has the place. Out of Maint its health is unknown, and it is not ejected: nobody
// has looked at it.
func (p *Pool) SetAdmin(b *Backend, a Admin, c Cause) bool {
	return p.change(b, c, func() (*note, bool) {
		if b.removed || b.admin == a {
			return nil, false
		}
		if b.admin == Maint || a == Maint {
			b.health, b.ejected = Unknown, false
		}
		b.admin = a
		return &b.ordered, true
	}).changed
}

// Admin returns what people want of b.
func (p *Pool) Admin(b *Backend) Admin {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.admin
}

// Health returns what b's probes say.
func (p *Pool) Health(b *Backend) Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.health
}

// left forgets removed backends whose sessions have ended.
func (p *Pool) left() []*Backend {
	p.leaving = slices.DeleteFunc(p.leaving, func(b *Backend) bool { return b.active.Load() == 0 })
	return p.leaving
}

// EndRemoved resets the sessions that a removed backend still has after the given time, unless
// it is back in the pool by then, or has been; 0 is never, and a negative one at once. It
// returns at once.
func (s *Service) EndRemoved(b *Backend, within time.Duration) {
	gone := s.pool.removal(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if within != 0 && gone != 0 && !s.closing {
		s.closings.Go(func() { s.endRemoved(b, gone, within) })
	}
}

// removal tells the removals of b from each other; 0 = it is in the pool.
func (p *Pool) removal(b *Backend) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !b.removed {
		return 0
	}
	return b.removals
}

func (s *Service) endRemoved(b *Backend, gone uint64, within time.Duration) {
	if within > 0 {
		select {
		case <-time.After(within):
		case <-s.ctx.Done():
			return
		}
	}
	if s.pool.removal(b) != gone {
		return
	}
	if n := s.end(relay.End{Who: relay.Operator, Why: relay.Drain}, func(i SessionInfo) bool { return i.at == b }); n > 0 {
		s.log.LogAttrs(context.Background(), slog.LevelInfo, "sessions closed", slog.String("service", s.name),
			slog.String("backend", b.cfg.Name), slog.String("reason", relay.Drain.String()),
			slog.Int("sessions", n), slog.String("over", "0s"))
	}
}
