package relay

import "golang.org/x/sys/unix"

const (
	// loopBuffer is what a loop reads small traffic with. A read that fills it shows
	// bulk.
	loopBuffer = 64 << 10
	// turnBudget is what a direction moves before other sessions have their turn.
	turnBudget = 1 << 20
	// quietBurst is what a direction in bulk moves at least between two times that its
	// source is empty.
	quietBurst = 32 << 10
)

// halt tells why a direction stopped moving.
type halt uint8

const (
	moving   halt = iota // it did not
	waiting              // for an event
	unserved             // its budget is used up
	atEnd                // its source has ended in order, and all is delivered
	stuck                // its destination takes no more, ever
	broken               // its source was reset or has died
)

// move is a turn of one direction.
type move struct {
	l        *loop
	s        *Session
	r        *record
	slot     int32
	d        Direction
	src, dst *fdLeg
	lane     *lane
	budget   int
}

func (l *loop) newMove(slot int32, d Direction) move {
	s, r := l.owner(slot), l.record(slot)
	return move{l: l, s: s, r: r, slot: slot, d: d, src: &r.legs[1-d], dst: &r.legs[d], lane: &r.lanes[d], budget: turnBudget}
}

// run moves bytes as long as that is possible and allowed. What is in hand goes
// first, and src is not read until it is gone.
func (m *move) run() halt {
	for {
		if out := m.deliver(); out != moving {
			return out
		}
		switch {
		case m.lane.ended:
			return atEnd
		case !m.src.readable:
			m.rest()
			return waiting
		case m.budget <= 0:
			return unserved
		}
		if out := m.receive(); out != moving {
			return out
		}
	}
}

// deliver writes what is in hand.
func (m *move) deliver() halt {
	for m.lane.buffer != none {
		if !m.dst.writable {
			return waiting
		}
		hand := &m.l.kept.held[m.lane.buffer]
		n, errno := send(m.dst.fd, hand.b[hand.from:])
		if out := m.wrote(n, errno); out != moving {
			return out
		}
		if hand.from += n; hand.from == len(hand.b) {
			m.l.dropBuffer(m.lane)
		}
	}
	for m.lane.pipe != none && m.l.pipes.pipes[m.lane.pipe].n > 0 {
		if !m.dst.writable {
			return waiting
		}
		pipe := &m.l.pipes.pipes[m.lane.pipe]
		n, errno := splice(pipe.r, m.dst.fd, int(pipe.n))
		m.dst.spliced = true
		pipe.n -= int32(n)
		if out := m.wrote(n, errno); out != moving {
			return out
		}
	}
	return moving
}

// wrote takes note of a write to dst.
func (m *move) wrote(n int, errno unix.Errno) halt {
	switch {
	case errno == unix.EAGAIN:
		m.dst.writable = false
		m.l.askForRoom(m.slot, m.d)
		return waiting
	case errno != 0:
		if m.dst.wrote == sound {
			m.dst.wrote = conditionOf(errno)
		}
		return stuck
	}
	m.budget -= n
	m.s.moved[m.d].Add(int64(n))
	m.r.active = m.l.now
	return moving
}

// receive reads once, through a pipe if there is much and one is to be had.
func (m *move) receive() halt {
	if m.lane.bulk && !m.src.unspliced && m.dst.tcp {
		if m.lane.pipe == none {
			m.lane.pipe = m.l.pipes.take()
		}
		if m.lane.pipe != none {
			return m.fillPipe()
		}
	}
	n, errno := recv(m.src.fd, m.l.buffer)
	if out := m.read(n, errno); out != moving || n == 0 {
		return out
	}
	if n == len(m.l.buffer) {
		m.lane.bulk, m.budget = true, 0 // bulk goes on in the queue
	} else if m.src.tcp && !m.src.urgent {
		// TCP gives all it has, so this was all. If the end had been reported before, it
		// comes next, and no event will tell.
		if m.src.inOrder() {
			m.lane.ended = true
		} else if !m.src.finished && !m.src.failed {
			m.src.readable = false
		}
	}
	return m.forward(m.l.buffer[:n])
}

// fillPipe reads into the direction's pipe, which is empty.
func (m *move) fillPipe() halt {
	n, errno := splice(m.src.fd, m.l.pipes.pipes[m.lane.pipe].w, min(pipeSize, m.budget))
	switch {
	case errno == unix.EINVAL:
		m.src.unspliced = true
		m.l.dropPipe(m.lane)
		return moving
	case errno == unix.EAGAIN && m.src.urgent, errno == 0 && n == 0:
		// Splice does not pass the mark of urgent data, and says so by an end once the
		// peer's has come: a read passes it, and knows an end when it sees one.
		m.lane.bulk = false
		m.l.dropPipe(m.lane)
		return moving
	}
	m.l.pipes.pipes[m.lane.pipe].n = int32(n)
	out := m.read(n, errno)
	m.budget = 0 // when it is delivered: more is there by the next turn, for the same calls
	return out
}

// read takes note of a read from src.
func (m *move) read(n int, errno unix.Errno) halt {
	switch {
	case errno == unix.EAGAIN:
		m.src.readable, m.src.urgent = false, false
	case errno != 0:
		m.src.read = conditionOf(errno)
		return broken
	case n == 0:
		if !m.src.inOrder() && hidden(m.src.socket(), m.src.wrote) {
			return broken
		}
		m.lane.ended = true
	default:
		m.lane.burst = min(m.lane.burst, quietBurst) + int32(n)
	}
	return moving
}

// forward writes what was read; what dst does not take is kept.
func (m *move) forward(b []byte) halt {
	for len(b) > 0 {
		n, errno := send(m.dst.fd, b)
		b = b[n:]
		switch out := m.wrote(n, errno); out {
		case moving:
		case waiting:
			m.lane.buffer = m.l.kept.keep(b)
			return moving
		default:
			return out
		}
	}
	return moving
}

// throwAway reads what src has to say to a dst that takes no more: as long as src is
// stuck in that it may not read what dst sent before.
func (m *move) throwAway() halt {
	for m.src.readable {
		if m.budget <= 0 {
			return unserved
		}
		n, errno := recv(m.src.fd, m.l.buffer)
		switch {
		case errno == unix.EAGAIN:
			m.src.readable, m.src.urgent = false, false
		case errno != 0 || n == 0:
			m.lane.discard = false
			return waiting
		}
		m.budget -= n
	}
	return waiting
}

// rest gives the pipe back while src is empty.
func (m *move) rest() {
	m.l.dropPipe(m.lane)
	if m.lane.burst < quietBurst {
		m.lane.bulk = false
	}
	m.lane.burst = 0
}

// dropBuffer frees the kept buffer of a direction and forgets what is in it.
func (l *loop) dropBuffer(a *lane) {
	if a.buffer != none {
		l.kept.drop(a.buffer)
		a.buffer = none
	}
}

// dropPipe gives a direction's pipe back and forgets what is in it.
func (l *loop) dropPipe(a *lane) {
	if a.pipe != none {
		l.pipes.give(a.pipe)
		a.pipe = none
	}
}
