package l4

import (
	"context"
	"log/slog"
	"slices"
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
	statusRemoved  = "removed"  // from the pool
)

// status returns the state as a whole, in one word. With the pool's mutex held.
func (b *Backend) status() string {
	switch {
	case b.removed:
		return statusRemoved
	case b.admin != Ready:
		return b.admin.String()
	case b.health == Down:
		return statusDown
	case b.conflicting:
		return statusConflict
	case b.pending:
		return Unknown.String()
	case b.ejected:
		return statusEjected
	}
	return b.health.String()
}

// usable tells whether b may get new sessions. With the pool's mutex held.
func (b *Backend) usable() bool { return b.eligible() && !b.ejected }

// eligible tells whether b would be usable were it not for an ejection.
func (b *Backend) eligible() bool { return b.wanted() && b.health != Down && !b.outvoted }

// wanted tells whether people want b to have new sessions.
func (b *Backend) wanted() bool { return b.cfg.Weight > 0 && b.admin == Ready && !b.removed }

func out(status string) bool {
	switch status {
	case statusDown, statusEjected, statusConflict, statusRemoved, Drain.String(), Maint.String():
		return true
	}
	return false
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
	p.tell(level, msg, b, from, c)
}

// tell logs a transition and passes it on.
func (p *Pool) tell(level slog.Level, msg string, b *Backend, from string, c Cause) {
	to := b.status()
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

// sayOutage logs that no backend is usable any more, or that one is back.
func (p *Pool) sayOutage(back bool) {
	switch {
	case p.usable > 0 && back:
		p.recovered()
	case p.usable > 0, len(p.backends) == 0, p.pending:
	case slices.ContainsFunc(p.backends, (*Backend).wanted):
		p.noUsable("every backend is down")
	default:
		p.noUsable("no backend may get new sessions")
	}
}

// noUsable logs the begin of an outage.
func (p *Pool) noUsable(reason string) {
	if p.outage.CompareAndSwap(0, time.Now().UnixNano()) {
		p.log.LogAttrs(context.Background(), slog.LevelWarn, "no usable backend",
			slog.String("service", p.service), slog.String("reason", reason), slog.Int("total", p.view.Load().total))
		if p.outages != nil {
			p.outages(Outage{Service: p.service, Reason: reason})
		}
	}
}

// Outage is the begin of a time in which no backend of a service is to be had, or its end.
type Outage struct {
	Service string
	Over    bool
	Reason  string        // of its begin
	After   time.Duration // at its end: how long it was
	Refused int64         // at its end: clients meanwhile
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
		refused := p.refused.Swap(0)
		p.log.LogAttrs(context.Background(), slog.LevelInfo, "usable again", slog.String("service", p.service),
			slog.String("after", after.String()), slog.Int64("refused", refused))
		if p.outages != nil {
			p.outages(Outage{Service: p.service, Over: true, After: after, Refused: refused})
		}
	}
}
