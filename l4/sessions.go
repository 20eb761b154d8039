package l4

// sessionList holds sessions. The zero value is empty.
type sessionList struct {
	first *Session
	n     int
}

func (l *sessionList) add(s *Session) {
	s.following, s.previous = l.first, nil
	if l.first != nil {
		l.first.previous = s
	}
	l.first = s
	l.n++
}

// remove takes out a session that is in the list.
func (l *sessionList) remove(s *Session) {
	if s.previous != nil {
		s.previous.following = s.following
	} else {
		l.first = s.following
	}
	if s.following != nil {
		s.following.previous = s.previous
	}
	s.following, s.previous = nil, nil
	l.n--
}

// all yields every session.
func (l *sessionList) all(yield func(*Session) bool) {
	for s := l.first; s != nil; s = s.following {
		if !yield(s) {
			return
		}
	}
}
