package l4

// sessionList holds sessions. The zero value is empty.
type sessionList struct {
	first *Session
	n     int
}

func (l *sessionList) add(s *Session) {
	s.next, s.previous = l.first, nil
	if l.first != nil {
		l.first.previous = s
	}
	l.first = s
	l.n++
}

// remove takes out a session that is in the list.
func (l *sessionList) remove(s *Session) {
	if s.previous != nil {
		s.previous.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.previous = s.previous
	}
	s.next, s.previous = nil, nil
	l.n--
}

// all yields every session.
func (l *sessionList) all(yield func(*Session) bool) {
	for s := l.first; s != nil; s = s.next {
		if !yield(s) {
			return
		}
	}
}
