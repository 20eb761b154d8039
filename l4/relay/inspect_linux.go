package relay

// watch sets the time of the next look for the present state. It is called at the
// start and when a direction ends.
func (l *loop) watch(slot int32) {
	s, r := l.owner(slot), l.record(slot)
	limit, _ := s.limits().Inactivity(r.ending())
	switch wait := s.limits().patrol(); {
	case limit > 0:
		r.look = l.after(min(wait, limit))
	case s.limits().User > 0:
		r.look = l.after(wait)
	default: // the loop hears of deaths by itself
		r.look = 0
	}
	l.arm(slot)
}

// look ends a session whose time is over, or sets the time of the next look.
func (l *loop) look(slot int32) {
	s, r := l.owner(slot), l.record(slot)
	for d := range r.legs {
		leg := &r.legs[d]
		if _, silent := inspect(leg.socket(), &leg.inspection, s.limits().User); silent {
			l.end(slot, End{whose(Direction(d)), Timeout})
			return
		}
	}
	if drains(&r.legs[ToClient].inspection, &r.legs[ToBackend].inspection, &r.queued) {
		r.active = l.now
	}
	again, e := s.limits().judge(l.now-r.active, r.ending(), r.queued)
	if e.Why != Running {
		l.end(slot, e)
		return
	}
	r.look = l.after(again)
}
