package relay

import (
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// open begins a session with the client that was accepted for it.
func (l *loop) open(s *Session, client fdLeg) {
	slot := l.newSlot()
	r := l.record(slot)
	*r = record{generation: r.generation, phase: opening, legs: [2]fdLeg{ToBackend: {fd: none}, ToClient: client}, active: l.now}
	for d := range r.lanes {
		r.lanes[d].buffer, r.lanes[d].pipe = none, none
	}
	l.setOwner(slot, s)
	s.slot = slot
	l.take(slot, s.opener().Open())
}

// opener returns the owner of a session that is being opened.
func (s *Session) opener() Opener { return s.Owner.(Opener) }

// dialsAtOnce is how many dials that fail on the spot one session makes in a turn.
const dialsAtOnce = 4

// putOff is a step that waits for the next turn.
type putOff struct {
	slot, generation int32
	step             Step
}

// takePutOff takes one step that was put off.
func (l *loop) takePutOff() {
	if len(l.putOff) == 0 {
		return
	}
	p := l.putOff[0]
	l.putOff[0] = putOff{}
	if l.putOff = l.putOff[1:]; len(l.putOff) == 0 {
		l.putOff = nil
	}
	if l.record(p.slot).generation == p.generation && l.owner(p.slot) != nil { // else it was killed
		l.take(p.slot, p.step)
	}
}

// take takes a session's next step.
func (l *loop) take(slot int32, step Step) {
	for failed := 0; ; failed++ {
		if failed == dialsAtOnce {
			l.putOff = append(l.putOff, putOff{slot, l.record(slot).generation, step})
			return
		}
		switch {
		case step.Leave:
			l.leave(slot)
			return
		case step.To == nil:
			l.end(slot, step.End)
			return
		}
		err := l.dial(slot, step)
		if err == nil {
			return
		}
		step = l.dialFailed(slot, err)
	}
}

// dial begins to connect to a backend.
func (l *loop) dial(slot int32, step Step) error {
	r := l.record(slot)
	to := step.To
	fd, errno := newSocket(to.raw.any.Addr.Family)
	if errno != 0 {
		return errno
	}
	leg := &r.legs[ToBackend]
	r.port = to.ip.Port()
	*leg = fdLeg{fd: fd, tcp: to.ip.IsValid()}
	if leg.tcp {
		step.Sockets.apply(fd) // what cannot be set was said of the listener
		if l.engine.paced && to.ip.Addr().IsLoopback() {
			unpace(fd)
		}
	}
	if errno := connect(fd, &to.raw); errno != 0 && errno != unix.EINPROGRESS {
		return errno
	}
	if errno := l.register(unix.EPOLL_CTL_ADD, slot, ToBackend, interest|unix.EPOLLOUT); errno != 0 {
		return errno
	}
	wait := step.Timeout
	if r.impatient = step.Patience > 0 && (wait <= 0 || step.Patience < wait); r.impatient {
		wait = step.Patience
	}
	if wait > 0 {
		l.tick() // the turn may have lasted
		r.look = l.after(wait)
		l.arm(slot)
	}
	return nil
}

// dialFailed forgets the backend, and asks for the next step.
func (l *loop) dialFailed(slot int32, err error) Step {
	r := l.record(slot)
	if r.look != 0 {
		r.look = 0
		l.arm(slot)
	}
	if leg := &r.legs[ToBackend]; leg.fd != none {
		closeNow(leg.fd, true)
		leg.fd = none
	}
	r.generation++ // what is reported of that socket still is of no interest
	gone := r.legs[ToClient].socket().dead()
	return l.owner(slot).opener().DialFailed(err, gone)
}

// dialEvent acts on what is reported of the socket to the backend.
func (l *loop) dialEvent(slot int32, events uint32) {
	if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		return
	}
	leg := &l.record(slot).legs[ToBackend]
	var err error
	if events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		if err = leg.socket().pendingError(); err == nil && leg.tcp {
			err = unix.ECONNRESET // somebody who has gone again
		}
	} else if leg.tcp && metItself(leg.fd, l.record(slot).port) {
		err = ErrSelf
	}
	if err == nil {
		err = l.greet(slot)
	}
	if err == nil {
		err = l.owner(slot).opener().Dialled()
	}
	if err != nil {
		l.take(slot, l.dialFailed(slot, err))
		return
	}
	leg.note(events)
	l.opened(slot)
}

// metItself tells whether both ends of a connection are one.
func metItself(fd int32, port uint16) bool {
	var local, peer rawAddress
	if nameOf(fd, &local) != 0 || local.get().Port() != port || peerOf(fd, &peer) != 0 {
		return false
	}
	return local.get() == peer.get()
}

// greet sends what a backend gets first. An empty socket takes it whole.
func (l *loop) greet(slot int32) error {
	first := l.owner(slot).opener().Greeting()
	if len(first) == 0 {
		return nil
	}
	switch n, errno := send(l.record(slot).legs[ToBackend].fd, first); {
	case errno != 0:
		return errno
	case n < len(first):
		return io.ErrShortWrite
	}
	return nil
}

// opened begins to relay.
func (l *loop) opened(slot int32) {
	r := l.record(slot)
	client, backend := &r.legs[ToClient], &r.legs[ToBackend]
	r.phase, r.active, r.look = relaying, l.now, 0
	l.watch(slot)
	// What is there already is read before the client is registered, which reports less
	// then.
	client.readable, client.writable, backend.writable = true, true, true
	generation := r.generation
	l.drive(slot)
	if r.generation != generation {
		return // it has ended
	}
	events := uint32(interest)
	if !client.writable {
		events |= unix.EPOLLOUT
	}
	if l.register(unix.EPOLL_CTL_ADD, slot, ToClient, events) != 0 {
		l.end(slot, End{Sluice, Internal})
	}
}

// leave gives the client back to the owner.
func (l *loop) leave(slot int32) {
	s := l.owner(slot)
	opener, fd := s.opener(), l.record(slot).legs[ToClient].fd
	l.vacate(slot)
	conn, err := connOf(fd)
	opener.Left(conn, err)
	l.engine.sessions.Done()
}

// connOf makes a Conn of a connected socket's descriptor, or resets it.
func connOf(fd int32) (Conn, error) {
	f := os.NewFile(uintptr(fd), "client")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		resetLinger(fd)
		return nil, err
	}
	conn, ok := c.(Conn)
	if !ok {
		c.Close()
		return nil, net.UnknownNetworkError(c.LocalAddr().Network())
	}
	return conn, nil
}
