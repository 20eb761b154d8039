package l4

import (
	"context"
	"log/slog"
	"time"
)

// outageQuiet is how long no client may have been refused for an accepted session to
// mean that an outage is over.
const outageQuiet = time.Second

// Words for a backend's state as a whole.
const (
	statusEjected  = "ejected"
	statusDown     = "down"
	statusConflict = "conflict" // it claims to be the writer, which another is
)

// status returns the state as a whole, in one word. With the pool's mutex held.
func (b *Backend) status() string {
	switch {
	case b.health == Down:
		return statusDown
	case b.conflicting:
		return statusConflict
	case b.ejected:
		return statusEjected
	}
	return b.health.String()
}

// usable tells whether b may get new sessions. With the pool's mutex held.
func (b *Backend) usable() bool { return b.eligible() && !b.ejected }

// eligible tells whether b would be usable were it not for an ejection.
func (b *Backend) eligible() bool { return b.cfg.Weight > 0 && b.health != Down && !b.outvoted }

func out(status string) bool {
	return status == statusDown || status == statusEjected || status == statusConflict
}

// moved tells that b went out of use, came back, or is known to be up for the first
// time. A change between two ways of being out is no news to most.
func (p *Pool) moved(b *Backend, from string, c Cause) {
	to := b.status()
	level, msg := slog.LevelInfo, "backend up"
	switch {
	case from == to:
		return
	case out(from) && out(to):
		level, msg = slog.LevelDebug, "backend still down"
	case out(to):
		msg = "backend down"
	}
	t := Transition{
		Time: time.Now(), Service: p.service, Backend: b.cfg.Name, Address: b.cfg.Address, From: from, To: to, Cause: c,
		Sessions: b.active.Load(), Usable: p.usable, Total: len(p.backends),
	}
	p.log.LogAttrs(context.Background(), level, msg,
		slog.String("service", t.Service), slog.String("backend", t.Backend), slog.String("address", t.Address),
		slog.String("source", c.Source), slog.String("reason", c.Reason),
		slog.String("from", from), slog.String("to", to), slog.Int64("sessions", t.Sessions),
		slog.Int("usable", t.Usable), slog.Int("total", t.Total))
	if p.transition != nil {
		p.transition(t)
	}
}

// sayOutage logs that the last usable backend went, or that one is back.
func (p *Pool) sayOutage(before int) {
	switch {
	case p.usable == 0 && before > 0:
		p.noUsable("every backend is down")
	case p.usable > 0 && before == 0:
		p.recovered()
	}
}

// noUsable logs the begin of an outage.
func (p *Pool) noUsable(reason string) {
	if p.outage.CompareAndSwap(0, time.Now().UnixNano()) {
		p.log.LogAttrs(context.Background(), slog.LevelWarn, "no usable backend",
			slog.String("service", p.service), slog.String("reason", reason), slog.Int("total", p.view.Load().total))
	}
}

// refuse counts a client that no backend took.
func (p *Pool) refuse() {
	p.refused.Add(1)
	p.lastRefused.Store(time.Now().UnixNano())
}

// accepted hears that a backend has accepted a session. That ends an outage only if
// no client was refused for a while: one of two backends may take every other client.
func (p *Pool) accepted() {
	if p.outage.Load() != 0 && time.Now().UnixNano()-p.lastRefused.Load() >= int64(outageQuiet) {
		p.recovered()
	}
}

// recovered logs the end of an outage, if there is one.
func (p *Pool) recovered() {
	began := p.outage.Load()
	if began != 0 && p.outage.CompareAndSwap(began, 0) {
		after := time.Since(time.Unix(0, began)).Round(time.Millisecond)
		p.log.LogAttrs(context.Background(), slog.LevelInfo, "usable again", slog.String("service", p.service),
			slog.String("after", after.String()), slog.Int64("refused", p.refused.Swap(0)))
	}
}
