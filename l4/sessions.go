package l4

// sessionList holds sessions, and marks of those who walk along it: they have no service.
// The zero value is empty.
type sessionList struct {
	first *Session
	n     int // sessions
}

func (l *sessionList) add(s *Session) {
	s.following, s.previous, s.listed = l.first, nil, true
	if l.first != nil {
		l.first.previous = s
	}
	l.first = s
	l.n++
}

// mark puts a mark in front of a session.
func (l *sessionList) mark(m, s *Session) {
	m.following, m.previous = s, s.previous
	if s.previous != nil {
		s.previous.following = m
	} else {
		l.first = m
	}
	s.previous = m
}

// remove takes out a session that is in the list.
func (l *sessionList) remove(s *Session) {
	l.unlink(s)
	l.n--
}

func (l *sessionList) unlink(s *Session) {
	if s.previous != nil {
		s.previous.following = s.following
	} else {
		l.first = s.following
	}
	if s.following != nil {
		s.following.previous = s.previous
	}
	s.following, s.previous, s.listed = nil, nil, false
}

// all yields every session.
func (l *sessionList) all(yield func(*Session) bool) {
	for s := l.first; s != nil; s = s.following {
		if s.svc != nil && !yield(s) {
			return
		}
	}
}

// spareSessions are records that ended sessions have left: a session costs no garbage.
// Whoever finds a session in the service's list may use it only with the service's mutex
// held, or when the service is closing: afterwards the record may be another's. The zero
// value is empty.
type spareSessions struct {
	first *Session
	n     int
}

// mostSpare is how many are kept.
const mostSpare = 16 << 10

// take returns a record that is zero.
func (l *spareSessions) take() *Session {
	s := l.first
	if s == nil {
		return &Session{}
	}
	l.first, s.following = s.following, nil
	l.n--
	return s
}

func (l *spareSessions) give(s *Session) {
	if l.n == mostSpare {
		return
	}
	*s = Session{following: l.first}
	l.first = s
	l.n++
}
