package relay

import (
	"net"

	"golang.org/x/sys/unix"
)

// takeOver takes a socket out of package net's hands, and out of its poller, by a
// duplicate of the descriptor. When there is none to be had the Conn stays, and lends
// its own.
func takeOver(c *Conn) fdLeg {
	l := fdLeg{fd: none, readable: true, writable: true}
	_, l.tcp = (*c).LocalAddr().(*net.TCPAddr)
	control(*c, func(d descriptor) {
		fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
		if l.borrowed = err != nil; l.borrowed {
			fd = d.fd
		}
		l.fd = int32(fd)
	})
	if !l.borrowed {
		(*c).Close()
		*c = nil
	}
	return l
}

// adopt begins to drive a session.
func (l *loop) adopt(s *Session, legs *[2]fdLeg) {
	slot := l.newSlot()
	r := l.record(slot)
	*r = record{generation: r.generation, phase: relaying, legs: *legs, active: l.now}
	for d := range r.lanes {
		r.lanes[d].buffer, r.lanes[d].pipe = none, none
	}
	r.legs[ToBackend].shut = s.Shut
	l.setOwner(slot, s)
	s.slot = slot
	for d := range r.legs {
		if l.register(unix.EPOLL_CTL_ADD, slot, Direction(d), interest) != 0 {
			l.end(slot, End{Sluice, Internal})
			return
		}
	}
	if len(s.Pending) > 0 {
		r.lanes[ToBackend].buffer = l.holdPending(s.Pending)
		s.Pending = nil
	}
	l.watch(slot)
	l.drive(slot)
}

// register has the loop hear of a leg.
func (l *loop) register(how int, slot int32, d Direction, events uint32) unix.Errno {
	r := l.record(slot)
	leg := &r.legs[d]
	leg.asksRoom = events&unix.EPOLLOUT != 0
	return epollControl(l.epoll, how, leg.fd, &unix.EpollEvent{Events: events, Fd: slot<<1 | int32(d), Pad: r.generation})
}

// askForRoom has the loop hear when a leg that took no more takes some again.
func (l *loop) askForRoom(slot int32, d Direction) {
	if !l.record(slot).legs[d].asksRoom {
		l.register(unix.EPOLL_CTL_MOD, slot, d, interest|unix.EPOLLOUT)
	}
}

func (l *loop) holdPending(b []byte) int32 {
	if len(b) <= loopBuffer {
		return l.kept.keep(b)
	}
	return l.kept.hold(b)
}
