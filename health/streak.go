package health

// streak is the rise/fall rule as a pure value: no clock, no lock, no opinion on what a
// result means.
//
// A state changes only after enough results in a row against it, and one opposite result
// starts the count anew: a single blip neither takes a backend out nor brings it back.
//
// From Unknown the first result decides, either way (HAProxy does likewise). Nothing is
// known yet that a blip could spoil, and waiting would cost: rise intervals at every start
// before a healthy backend counts, or fall intervals of traffic to a dead one. A backend
// that comes back after having been down is another matter; it needs rise.
type streak struct {
	state  State
	passed bool // the newest result; means nothing while run is 0
	run    int  // results in a row that equal passed
}

// next returns the streak after one more result, and whether its state changed by it.
func (s streak) next(passed bool, rise, fall int) (streak, bool) {
	if passed != s.passed {
		s.passed, s.run = passed, 0
	}
	s.run++
	to, need := Down, fall
	if passed {
		to, need = Up, rise
	}
	if s.state == Unknown {
		need = 1
	}
	if s.state == to || s.run < need {
		return s, false
	}
	s.state = to
	return s, true
}

// failing says whether the newest result was a failure; without any result it is not.
func (s streak) failing() bool { return s.run > 0 && !s.passed }
