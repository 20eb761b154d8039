package health

import (
	"fmt"
	"time"
)

// earlyEnds is how many sessions in a row that a backend ended at once weigh as much as
// reaching Config.Failures. One such end is weak evidence: a backend at its own limit does
// the same and works well for the sessions it has, and what a client sent (a wrong
// protocol, a port scan) can provoke it. Five in a row, without one answer in between, are
// no accident of one client.
const earlyEnds = 5

// passive is what dials and sessions have told about a backend; guarded by Member.mu.
type passive struct {
	dials int // failed dials in a row
	early int // sessions in a row that the backend ended at once

	// active: an ejection of ours runs until the time `until`. The pool may have lifted it
	// meanwhile (last usable backend); nothing here depends on that.
	active       bool
	began, until time.Time
	timer        *time.Timer

	// byDials: the ejection that runs came of dials, so one that succeeds disproves it.
	byDials bool
	// proven is when the backend was last given back its good name, by time, probes or a
	// dial: those that began before and fail late are no news.
	proven time.Time

	// length is the newest ejection's, 0 once the backend is proven well. Not active and
	// above 0 means on trial: the time was over, and no dial has succeeded since.
	length time.Duration
	// passes counts probes passed in a row since began.
	passes int
}

func (p *passive) onTrial() bool { return !p.active && p.length > 0 }

// dialMatters says whether a dial that succeeds changes anything.
func (p *passive) dialMatters() bool { return p.dials > 0 || p.onTrial() || p.active && p.byDials }

// next returns the length of an ejection that starts now.
func (p *passive) next(first time.Duration) time.Duration {
	if p.length == 0 {
		return first
	}
	return min(2*p.length, MaxEject)
}

// probed counts a probe towards the proof that the backend is well again, during an
// ejection and on trial after it, and says whether the proof is complete. A probe that
// began before the ejection proves nothing against it.
func (p *passive) probed(start time.Time, passed bool, rise int) bool {
	if p.length == 0 || start.Before(p.began) {
		return false
	}
	if !passed {
		p.passes = 0
		return false
	}
	p.passes++
	return p.passes >= rise
}

// DialOK notes that a dial that began at the given time succeeded. It resets the count of
// failed dials and ends a trial. During an ejection for failed dials, in which clients are
// sent to the backend only when all others have failed them, it ends that. While there is
// nothing to reset it is one atomic load.
func (m *Member) DialOK(began time.Time) {
	if !m.dialWatch.Load() {
		return
	}
	m.mu.Lock()
	defer m.unlock()
	p := &m.passive
	switch {
	case p.active && p.byDials && began.After(p.began):
		m.clear(Cause{Source: SourceDial, Reason: "a dial succeeded", At: time.Now()})
	case p.onTrial():
		p.dials, p.length, p.proven = 0, 0, time.Now()
	default:
		p.dials = 0
	}
}

// DialFailed notes that a dial that began at the given time failed; reason is short and
// without the address ("connection refused"). Config.Failures in a row eject it, on trial
// one.
func (m *Member) DialFailed(began time.Time, reason string) {
	if !m.mon.cfg.passive() {
		return
	}
	m.mu.Lock()
	defer m.unlock()
	p := &m.passive
	if began.Before(p.proven) {
		return
	}
	p.dials++
	if p.dials < m.mon.cfg.Failures && !p.onTrial() {
		return
	}
	m.eject(fmt.Sprintf("%s (%d failed in a row)", clip(reason), p.dials), p.dials, true)
}

// EndedAtOnce notes a session that the backend ended at once, without having sent a byte.
// Five in a row eject it, see earlyEnds. A dial that succeeds does not reset the count,
// because each of these sessions began with one; Answered does.
func (m *Member) EndedAtOnce() {
	if !m.mon.cfg.passive() {
		return
	}
	m.mu.Lock()
	defer m.unlock()
	p := &m.passive
	if p.early++; p.early < earlyEnds {
		return
	}
	m.eject(fmt.Sprintf("ended %d sessions in a row at once, without a byte", p.early), p.early, false)
}

// Answered notes that the backend sent the first byte of a session. It resets the count of
// EndedAtOnce. While there is nothing to reset it is one atomic load.
func (m *Member) Answered() {
	if !m.endWatch.Load() {
		return
	}
	m.mu.Lock()
	defer m.unlock()
	m.passive.early = 0
}

// eject asks the gate to take the backend out. While an ejection runs the gate is asked
// again, in case the pool has lifted it, but the time does not change: late failures of
// dials that began before it are no news. Refused, nothing is kept but the counts, so the
// next failure tries again. The caller holds mu.
func (m *Member) eject(reason string, count int, byDials bool) {
	if m.stopped {
		return
	}
	p, now := &m.passive, time.Now()
	length := p.length
	if !p.active {
		length = p.next(m.mon.cfg.Eject)
	}
	reason = fmt.Sprintf("%s, ejected for %v", reason, length)
	ok := m.gate.Eject(Cause{Source: SourceDial, Reason: reason, At: now, Streak: count})
	if !ok || p.active {
		return
	}
	p.active, p.byDials, p.length, p.passes = true, byDials, length, 0
	p.began, p.until = now, now.Add(length)
	p.timer = time.AfterFunc(length, m.ejectionOver)
}

// ejectionOver runs when the time of an ejection is over. A backend whose newest probe
// failed has nothing to be tried for: it stays out for twice the time. Otherwise clients
// try it again, on trial.
func (m *Member) ejectionOver() {
	m.mu.Lock()
	defer m.unlock()
	p, now := &m.passive, time.Now()
	// A timer that fired just before it was stopped finds its ejection ended already, or
	// a later one in its place.
	if m.stopped || !p.active || now.Before(p.until) {
		return
	}
	if m.streak.failing() {
		p.length = p.next(m.mon.cfg.Eject)
		p.until = p.until.Add(p.length)
		p.timer.Reset(p.until.Sub(now))
		return
	}
	p.active, p.early, p.proven = false, 0, now
	m.gate.Restore(Cause{
		Source: SourceDial,
		Reason: fmt.Sprintf("ejection of %v is over, on trial", p.until.Sub(p.began)),
		At:     now,
	})
}

// clear ends an ejection or a trial because the backend has proven to be well, and with it
// all that dials and sessions had told before. The caller holds mu.
func (m *Member) clear(c Cause) {
	wasActive := m.passive.active
	if wasActive {
		m.passive.timer.Stop()
	}
	m.passive = passive{proven: time.Now()}
	if wasActive {
		m.gate.Restore(c)
	}
}
