package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/metrics"
	"github.com/sluicelb/sluice/health"
	"github.com/sluicelb/sluice/health/history"
	"github.com/sluicelb/sluice/l4"
)

// gate carries a monitor's verdicts on one backend to its pool.
type gate struct {
	pool    *l4.Pool
	backend *l4.Backend
}

// stateOf and healthOf translate between two rooms that have the same states.
func stateOf(h l4.Health) health.State {
	switch h {
	case l4.Up:
		return health.Up
	case l4.Down:
		return health.Down
	}
	return health.Unknown
}

func healthOf(s health.State) l4.Health {
	switch s {
	case health.Up:
		return l4.Up
	case health.Down:
		return l4.Down
	}
	return l4.Unknown
}

func (g gate) SetHealth(s health.State, c health.Cause) {
	g.pool.SetHealth(g.backend, healthOf(s), causeOf(c))
}

func (g gate) Eject(c health.Cause) bool { return g.pool.Eject(g.backend, causeOf(c)) }

func (g gate) Restore(c health.Cause) bool { return g.pool.Restore(g.backend, causeOf(c)) }

func causeOf(c health.Cause) l4.Cause {
	return l4.Cause{
		Source: c.Source.String(), Reason: c.Reason, Took: c.Took, Streak: c.Streak,
		Step: c.Evidence.Step, Saw: c.Evidence.Saw, Errno: c.Evidence.Errno, Unsure: c.Unsure,
	}
}

// timed counts how long probes take.
type timed struct {
	health.Prober
	durations *metrics.Histogram
}

func (t timed) Probe(ctx context.Context) error {
	began := time.Now()
	err := t.Prober.Probe(ctx)
	t.durations.Observe(time.Since(began))
	return err
}

// Close implements io.Closer for those that have something to close.
func (t timed) Close() error {
	if c, able := t.Prober.(io.Closer); able {
		return c.Close()
	}
	return nil
}

// remember keeps a transition with its evidence.
func (a *App) remember(t l4.Transition) {
	a.history.Add(history.Entry{
		Time: t.Time, Service: t.Service, Backend: t.Backend, Address: t.Address, Source: t.Source, From: t.From, To: t.To,
		Reason: t.Reason, Step: t.Step, Saw: t.Saw, Errno: t.Errno, Took: t.Took, Streak: t.Streak, Who: t.Who,
		Sessions: t.Sessions, Usable: t.Usable, Total: t.Total,
	})
	a.events.add(Event{
		Time: t.Time, Kind: "transition", Service: t.Service, Backend: t.Backend, Text: t.To + ": " + t.Reason, Who: t.Who,
		From: t.From, To: t.To, Source: t.Source,
	})
}

// noteGone keeps that a service's backends went with it: its pool tells nothing of that.
func (a *App) noteGone(s *service, c l4.Cause) {
	for _, b := range s.l4.Backends() {
		if b.Leaving {
			continue // that was told when it was removed
		}
		a.history.Add(history.Entry{
			Time: time.Now(), Service: s.name, Backend: b.Name, Address: b.Address, Source: c.Source, From: b.State, To: removed,
			Reason: c.Reason, Who: c.Who, Sessions: int64(b.Sessions),
		})
	}
}

// noteBack keeps that backends are there again of which the last that is known is that they
// were removed; a pool tells of verdicts only, which may never come.
func (a *App) noteBack(service, reason string, all ...*member) {
	for _, m := range all {
		own := a.history.Of(service, m.cfg.Name)
		if len(own) == 0 || own[len(own)-1].To != removed {
			continue
		}
		usable, total := 0, 0
		if s, err := a.service(service); err == nil {
			total, usable = s.l4.Pool().Count()
		}
		a.history.Add(history.Entry{
			Time: time.Now(), Service: service, Backend: m.cfg.Name, Address: m.cfg.Address, Source: "admin", From: removed, To: l4.Unknown.String(),
			Reason: reason, Usable: usable, Total: total,
		})
	}
}

// removed is the state of a backend that is not in its pool any more.
const removed = "removed"

// outage keeps the begin or the end of one as an event.
func (a *App) outage(o l4.Outage) {
	text := "no usable backend: " + o.Reason
	if o.Over {
		text = fmt.Sprintf("usable again after %v, %s refused", o.After.Round(time.Millisecond), counted(int(o.Refused), "client"))
	}
	a.events.add(Event{Kind: "outage", Service: o.Service, Text: text})
}

// History returns what is kept of a backend's transitions, the oldest first.
func (a *App) History(service, backend string) []history.Entry { return a.history.Of(service, backend) }
