package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4"
)

// Event is something that happened.
type Event = api.Event

const (
	keptEvents   = 2048
	keptFailures = 1024
	// followerQueue is for how many events a follower may lag behind.
	followerQueue = 256
)

// events are the newest ones, and who follows them. The zero value is ready to use.
type events struct {
	mu        sync.Mutex
	last      uint64
	ring      []Event // the oldest first
	followers []chan Event
}

// add keeps an event, and tells those who follow: whoever is too slow loses it.
func (e *events) add(ev Event) {
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	ev.ID = e.last
	if len(e.ring) >= 2*keptEvents {
		e.ring = append(e.ring[:0], e.ring[len(e.ring)-keptEvents+1:]...)
	}
	e.ring = append(e.ring, ev)
	for _, f := range e.followers {
		select {
		case f <- ev:
		default: // it sees by the number that it lost some
		}
	}
}

// after returns the events after since, and whether some of them are gone. A since that this
// process has not come to is of the one before: all of its own are new then.
func (e *events) after(since uint64) (all []Event, lost bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if since > e.last {
		since, lost = 0, true
	}
	kept := e.ring[max(0, len(e.ring)-keptEvents):]
	i, _ := slices.BinarySearchFunc(kept, since+1, func(ev Event, id uint64) int { return int(int64(ev.ID) - int64(id)) })
	return slices.Clone(kept[i:]), lost || len(kept) > 0 && kept[0].ID > since+1
}

func (e *events) follow() chan Event {
	c := make(chan Event, followerQueue)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.followers = append(e.followers, c)
	return c
}

func (e *events) unfollow(c chan Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.followers = slices.DeleteFunc(e.followers, func(f chan Event) bool { return f == c })
}

// Events implements api.Control.
func (a *App) Events(since uint64, service string) api.Events {
	all, lost := a.events.after(since)
	if service != "" {
		all = slices.DeleteFunc(all, func(e Event) bool { return e.Service != service })
	}
	if all == nil {
		all = []Event{}
	}
	return api.Events{Events: all, Lost: lost}
}

// Follow implements api.Control.
func (a *App) Follow(ctx context.Context, since uint64, f func(e Event, lost int) error) error {
	c := a.events.follow()
	defer a.events.unfollow(c)
	past, lost := a.events.after(since)
	next := since + 1
	switch {
	case lost && len(past) == 0:
		next = 1
	case lost:
		next = min(next, past[0].ID)
	}
	tell := func(e Event) error {
		if e.ID < next {
			return nil // it was among the past ones
		}
		missed := int(e.ID - next)
		next = e.ID + 1
		return f(e, missed)
	}
	for _, e := range past {
		if err := tell(e); err != nil {
			return err
		}
	}
	for {
		select {
		case e := <-c:
			if err := tell(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// failures are the newest records of sessions that failed or were retried. The zero value
// is ready to use.
type failures struct {
	mu   sync.Mutex
	ring [keptFailures]l4.Decision
	n    uint64 // ever
}

// add keeps one more; on the path of sessions.
func (f *failures) add(d l4.Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ring[f.n%keptFailures] = d
	f.n++
}

// newest returns those of a service, "" being all, the newest first; limit 0 is all.
func (f *failures) newest(service string, limit int) (all []l4.Decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := f.n; i > 0 && f.n-i < keptFailures && (limit == 0 || len(all) < limit); i-- {
		if d := f.ring[(i-1)%keptFailures]; service == "" || d.Service == service {
			all = append(all, d)
		}
	}
	return all
}

// Failures implements api.Control.
func (a *App) Failures(service string, limit int) []api.Failure {
	decisions := a.failed.newest(service, limit)
	all := make([]api.Failure, len(decisions))
	for i, d := range decisions {
		all[i] = api.Failure{
			Time: d.Time, Service: d.Service, Client: clientName(d.Client), Backend: d.Backend, Who: d.End.Who.String(), Why: d.End.Why.String(),
			Duration: api.Duration(d.Duration), Held: api.Duration(d.Held), Attempts: make([]api.Attempt, len(d.Attempts)),
		}
		for j, t := range d.Attempts {
			all[i].Attempts[j] = api.Attempt{Backend: t.Backend, Error: t.Error, Took: api.Duration(t.Took)}
		}
	}
	return all
}
