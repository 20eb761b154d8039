package relay

// drive moves what can be moved of a session in one turn.
func (l *loop) drive(slot int32) {
	r := l.record(slot)
	for d := range r.lanes {
		m := l.newMove(slot, Direction(d))
		if r.phase == relaying && !m.lane.over {
			l.halted(slot, m.d, m.run())
		}
		if r.phase != vacant && m.lane.discard && m.throwAway() == unserved {
			l.enqueue(slot)
		}
	}
	switch {
	case r.phase == vacant:
		return
	case r.phase != relaying:
		l.letThrough(slot)
		return
	}
	if r.lanes[ToBackend].over && r.lanes[ToClient].over {
		l.settle(slot)
		return
	}
	l.mourn(slot)
}

// halted acts on why a direction stopped moving.
func (l *loop) halted(slot int32, d Direction, why halt) {
	switch why {
	case unserved:
		l.enqueue(slot)
	case atEnd:
		l.passEnd(slot, d)
	case stuck:
		l.destinationFailed(slot, d)
	case broken:
		l.abort(slot, 1-d)
	}
}

// close ends a direction.
func (l *loop) close(a *lane) {
	l.dropBuffer(a)
	l.dropPipe(a)
	a.over = true
}

// passEnd tells dst's peer that no more will come. When the other direction is over
// too, the close does, if it can follow at once.
func (l *loop) passEnd(slot int32, d Direction) {
	r := l.record(slot)
	l.close(&r.lanes[d])
	l.owner(slot).NoteEnd()
	if r.first == Nobody {
		r.first = whose(1 - d)
	}
	r.active = l.now
	r.legs[d].shut, r.lanes[d].unsaid = true, true
	if _, faulty := r.faulty(); faulty || !r.lanes[1-d].over {
		l.sayEnds(slot)
	}
}

// sayEnds tells the peers that have not been told of the ends of their directions.
func (l *loop) sayEnds(slot int32) {
	r := l.record(slot)
	for d := range r.lanes {
		if r.lanes[d].unsaid {
			r.lanes[d].unsaid = false
			shutdownWrite(r.legs[d].fd)
			l.watch(slot)
		}
	}
}

// destinationFailed notes that dst takes no more. What dst's peer sent before is still
// to be delivered: the other direction does that, then ends the session.
func (l *loop) destinationFailed(slot int32, d Direction) {
	r := l.record(slot)
	l.close(&r.lanes[d])
	r.lanes[d].discard = true
	r.active = l.now
	l.watch(slot)
}

// mourn notes a leg that has died while nothing reads from it: its direction has ended
// in order before, which makes this the session's end, or is stuck in a write. One
// whose peer was told of the end may be dead in all order.
func (l *loop) mourn(slot int32) {
	r := l.record(slot)
	for d := range r.legs {
		leg, from := &r.legs[d], &r.lanes[1-d]
		if !leg.tcp || !leg.hung || leg.shut || leg.fault() != sound {
			continue
		}
		leg.wrote = causeOfDeath(leg.socket())
		r.active = l.now
		if from.over && !from.discard && r.legs[1-d].fault() == sound {
			l.abort(slot, Direction(d))
			return
		}
		l.watch(slot)
	}
}

// settle ends a session of which both directions are over. An orderly close would
// leave the kernel what is queued, but to an owner-less socket it is less patient
// than we are.
func (l *loop) settle(slot int32) {
	r := l.record(slot)
	if dead, faulty := r.faulty(); faulty {
		l.abort(slot, dead)
		return
	}
	r.phase = settling
	l.await(slot, ToClient)
}

// abort ends a session of which one leg was reset or has died: what was delivered to
// the other leg is let through, since a reset discards what is still queued, then
// that one is reset too.
func (l *loop) abort(slot int32, dead Direction) {
	r := l.record(slot)
	l.owner(slot).NoteEnd()
	r.conclude(verdictOn(whose(dead), r.legs[dead].fault()))
	for d := range r.lanes {
		l.close(&r.lanes[d])
	}
	if r.lanes[dead].discard = true; r.legs[1-dead].readable {
		l.enqueue(slot)
	}
	r.phase = aborting
	r.active = l.now
	l.watch(slot)
	l.await(slot, 1-dead)
}

// await lets through what was written to a leg.
func (l *loop) await(slot int32, d Direction) {
	r := l.record(slot)
	r.awaits, r.left, r.awaited = d, 0, l.now
	l.letThrough(slot)
}

// letThrough goes on with the end of a session if the peer that it waits for has
// acknowledged all, or has died. Inactivity ends the wait.
func (l *loop) letThrough(slot int32) {
	r := l.record(slot)
	switch {
	case !l.through(slot):
	case r.phase == aborting:
		l.cut(slot)
	case r.awaits == ToClient:
		l.await(slot, ToBackend)
	default:
		l.settled(slot)
	}
}

// through tells whether the awaited peer has acknowledged all or has died. If not it
// has the loop ask again: the kernel has no event for that.
func (l *loop) through(slot int32) bool {
	r := l.record(slot)
	leg := &r.legs[r.awaits]
	if leg.fault() != sound {
		return true
	}
	left, lost, _ := arrived(leg.socket())
	if left == 0 {
		leg.wrote = lost
		return true
	}
	if int32(left) != r.left {
		r.left = int32(left)
		r.active = l.now
	}
	l.sayEnds(slot)
	if r.poll == 0 {
		r.poll = l.after(pauseAfter(l.now - r.awaited))
		l.arm(slot)
	}
	return false
}

// settled closes a session of which both directions have ended, and all is delivered.
func (l *loop) settled(slot int32) {
	r := l.record(slot)
	if dead, faulty := r.faulty(); faulty {
		l.sayEnds(slot) // the close was to tell, and becomes a reset
		l.abort(slot, dead)
		return
	}
	l.end(slot, End{r.first, EOF})
}

// end ends a session now, in the given way if its end is not settled.
func (l *loop) end(slot int32, e End) {
	l.owner(slot).NoteEnd()
	l.record(slot).conclude(e)
	l.cut(slot)
}

// cut closes both sockets as the settled end demands and forgets the session: the
// client first, since it is the one that waits to hear of it.
func (l *loop) cut(slot int32) {
	s, r := l.owner(slot), l.record(slot)
	for d := range r.lanes {
		l.close(&r.lanes[d])
	}
	l.wheel.clear(slot)
	reset := r.end.Why != EOF
	s.closeLeg(&r.legs[ToClient], ToClient, reset)
	s.closeLeg(&r.legs[ToBackend], ToBackend, reset)
	l.ended = append(l.ended, ending{s, r.end})
	l.vacate(slot)
}

func (s *Session) closeLeg(leg *fdLeg, d Direction, reset bool) {
	switch {
	case leg.fd == none: // not dialled
		return
	case !leg.borrowed:
		closeNow(leg.fd, reset)
		return
	}
	if reset {
		resetLinger(leg.fd)
	}
	if d == ToClient {
		s.Client.Close()
	} else {
		s.Backend.Close()
	}
}
