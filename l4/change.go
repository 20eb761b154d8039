package l4

import (
	"log/slog"
	"slices"
	"time"
)

// Cause tells who changed a backend's state, and why.
type Cause struct {
	Source string // probe, dial or admin
	Reason string

	// The rest is evidence, as far as there is any.
	Took   time.Duration // of the deciding probe
	Streak int           // results in a row that agree
	Step   string        // what the probe was doing
	Saw    string        // what the backend sent instead of what was wanted
	Errno  string        // the system's error in words
	Unsure bool          // it may well be working: no ground to end the sessions that it has
	Who    string        // the person, if Source is admin
}

// Transition is a change of a backend's state as a whole. The states are unknown, up,
// down, ejected, and conflict: it is up and claims to be the writer, which another is.
type Transition struct {
	Time             time.Time
	Service          string
	Backend, Address string
	From, To         string
	Cause
	Sessions      int64 // the backend's at that time, dials included
	Usable, Total int   // backends of the service afterwards
}

// outcome is what a change came to.
type outcome struct{ changed, ejected bool }

// change is the pool's one writer path: it applies a change to b's state, keeps the
// rules of the last usable backend and of the one writer, makes the new view, and tells
// of the transitions.
func (p *Pool) change(b *Backend, c Cause, apply func() (*note, bool)) outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return outcome{p.settle(b, c, apply), b.ejected}
}

// settle is change with mu held. Without b the change is one of all backends, and without
// a note one that leaves what is known of b as it is. It returns whether there was one.
func (p *Pool) settle(b *Backend, c Cause, apply func() (*note, bool)) bool {
	backends, before, were, back := p.backends, p.usable, p.statuses(), false
	why, changed := apply()
	if !changed {
		return false
	}
	now := time.Now()
	if why != nil {
		*why = note{c.Reason, now}
	}
	p.elect()
	p.liftEjections()
	p.usable = p.countUsable()
	for i, o := range backends {
		if out(were[i]) && o.usable() {
			back = back || were[i] != statusEjected // the end of an ejection proves nothing
			p.rise(o)
		}
	}
	p.riseJoined()
	p.bar(p.withdrawn)
	p.publish()
	for i, o := range backends {
		switch {
		case o != b:
		case were[i] == statusDown && o.status() == statusDown && why == &b.probed:
			p.tell(slog.LevelDebug, "backend still down", o, were[i], c)
		default:
			p.moved(o, were[i], p.because(o, c))
		}
	}
	for i, o := range backends {
		switch {
		case o == b || were[i] == o.status():
		case o.removed:
			p.moved(o, were[i], c)
		default:
			p.moved(o, were[i], p.consequence(o, were[i], c, now))
		}
	}
	p.sayOutage(back || before == 0)
	return true
}

// riseJoined has those climb that have joined the others and are up now.
func (p *Pool) riseJoined() {
	for _, b := range p.backends {
		if b.joins && b.health == Up && b.usable() {
			b.joins = false
			p.rise(b)
		}
	}
}

// statuses returns the state of every backend.
func (p *Pool) statuses() []string {
	all := make([]string, len(p.backends))
	for i, b := range p.backends {
		all[i] = b.status()
	}
	return all
}

// because returns c, or why b is not used whatever c says.
func (p *Pool) because(b *Backend, c Cause) Cause {
	if c.Source == sourceAdmin && b.admin == Ready && !b.removed && b.health == Down {
		c.Reason += ", but its check fails: " + b.probed.reason
	}
	if b.conflicting && b.health == Up {
		c.Reason += "; " + p.reasonConflict()
		b.probed.reason = c.Reason
	}
	return c
}

// consequence returns why the change of another backend, for c, changed b.
func (p *Pool) consequence(b *Backend, was string, c Cause, at time.Time) Cause {
	reason := c.Reason
	c = Cause{Source: c.Source, Who: c.Who}
	switch {
	case was == statusEjected:
		c.Reason = reasonLifted
		b.dialled = note{c.Reason, at}
		return c
	case b.conflicting:
		c.Reason = p.reasonConflict()
	case p.conflict == "":
		c.Reason = reason
	default:
		c.Reason = "is the only one that claims to be the writer now"
		if p.conflict == ConflictFirst || p.conflict == ConflictKeep {
			c.Reason = "claims to be the writer, and now has the place (conflict: " + string(p.conflict) + ")"
		}
	}
	b.probed = note{c.Reason, at}
	return c
}

const reasonLifted = "no other backend is usable: ejection lifted"

// liftEjections returns all ejected backends to use if nothing else is left.
func (p *Pool) liftEjections() {
	if slices.ContainsFunc(p.backends, (*Backend).usable) {
		return
	}
	for _, b := range p.backends {
		b.ejected = b.ejected && !b.eligible()
	}
}

// bar keeps sessions that are being connected from backends that may have none: those that
// people have taken out, and in a strict pool those that probes have. It tells of those of
// the latter that are known to be down, or not to be the writer: one that people look after,
// or that has yet to be heard, may be it still while no other is.
func (p *Pool) bar(withdrawn func(*Backend)) {
	for _, b := range p.backends {
		b.barred.Store(b.admin != Ready || p.strict && (b.health == Down || b.outvoted))
		// Who is full, say, keeps its sessions; but no two writers have any.
		down := b.health == Down && !(b.unsure && p.holder == nil)
		fallen := p.strict && (down || b.conflicting || b.outvoted && p.holder != nil)
		p.fall(b, fallen, withdrawn)
	}
	for _, b := range p.leaving { // no two writers, nor one that was removed
		p.fall(b, p.strict && p.holder != nil, withdrawn)
	}
}

// fall notes whether b has fallen, and tells of it if that is new.
func (p *Pool) fall(b *Backend, fallen bool, withdrawn func(*Backend)) {
	if b.fallen.Swap(fallen) != fallen && fallen && withdrawn != nil && !p.closed {
		withdrawn(b)
	}
}
