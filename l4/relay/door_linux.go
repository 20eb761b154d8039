package relay

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// door is a listening socket that all loops of an engine accept from.
type door struct {
	engine  *Loops
	index   int // in every loop's doorways
	fd      int32
	tcp     bool
	to      Reception
	sockets Sockets
	early   atomic.Int64   // clients that may have been queued before the socket had its options
	using   sync.WaitGroup // loops
	closing sync.Once
}

// doorway is a loop's side of a door.
type doorway struct {
	*door
	shutUntil int64 // ms on the loop's clock; 0 = open
}

// Listen implements Front.
func (e *Loops) Listen(ln syscall.Conn, o Sockets, r Reception) (Listening, error) {
	d := &door{engine: e, to: r, sockets: o}
	if err := d.take(ln); err != nil {
		return nil, fmt.Errorf("relay: listen: %w", err)
	}
	if err := d.setOptions(); err != nil {
		r.OptionFailed(err)
	}
	e.hang(d)
	return d, nil
}

// setOptions sets the options on the socket, for those that are accepted. Over a Unix
// socket it tries them on another: backends may be of TCP.
func (d *door) setOptions() error {
	if d.tcp {
		err := d.sockets.apply(d.fd)
		if d.engine.paced && localAddress(d.fd).Addr().IsLoopback() {
			unpace(d.fd)
		}
		d.early.Store(backlogged(d.fd))
		return err
	}
	fd, errno := newSocket(unix.AF_INET)
	if errno != 0 {
		return errno
	}
	defer closeNow(fd, false)
	return d.sockets.apply(fd)
}

// take duplicates the descriptor of a listening stream socket.
func (d *door) take(ln syscall.Conn) error {
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		if d.tcp, err = listens(int(fd)); err != nil {
			return
		}
		var own int
		own, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		d.fd = int32(own)
	})
	return errors.Join(failed, err)
}

// listens tells whether a socket is one that clients are accepted from, and of TCP.
func listens(fd int) (tcp bool, err error) {
	var options [4]int
	for i, o := range [...]int{unix.SO_TYPE, unix.SO_ACCEPTCONN, unix.SO_DOMAIN, unix.SO_PROTOCOL} {
		if options[i], err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, o); err != nil {
			return false, err
		}
	}
	domain, protocol := options[2], options[3]
	tcp = (domain == unix.AF_INET || domain == unix.AF_INET6) && protocol == unix.IPPROTO_TCP
	if options[0] != unix.SOCK_STREAM || options[1] == 0 || !tcp && domain != unix.AF_UNIX {
		return false, errors.ErrUnsupported
	}
	return tcp, nil
}

// backlogged returns how many clients wait to be accepted.
func backlogged(fd int32) int64 {
	if info := (descriptor{int(fd), true}).info(); info != nil {
		return int64(info.Unacked) // of a listening socket: the length of its queue
	}
	return 0
}

// hang has all loops accept from d.
func (e *Loops) hang(d *door) {
	e.doorsMu.Lock()
	defer e.doorsMu.Unlock()
	if d.index = slices.Index(e.doors, nil); d.index < 0 {
		d.index = len(e.doors)
		e.doors = append(e.doors, nil)
	}
	e.doors[d.index] = d
	d.using.Add(len(e.loops))
	for _, l := range e.loops {
		l.post(command{do: openDoor, door: d})
	}
}

// Close implements Listening.
func (d *door) Close() {
	d.closing.Do(func() {
		for _, l := range d.engine.loops {
			l.post(command{do: closeDoor, door: d})
		}
		d.using.Wait()
		closeNow(d.fd, false)
		d.engine.doorsMu.Lock()
		defer d.engine.doorsMu.Unlock()
		d.engine.doors[d.index] = nil
	})
	d.using.Wait()
}

// File implements Listening.
func (d *door) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("relay: listen: %w", err)
	}
	return os.NewFile(uintptr(fd), "listener"), nil
}

// Waits implements Queue.
func (d *door) Waits() bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: d.fd, Events: unix.POLLIN}}, 0)
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}

// Accept implements Queue.
func (d *door) Accept() (Arrival, error) {
	var peer rawAddress
	fd, errno := accept(d.fd, &peer)
	if errno != 0 {
		return nil, errno
	}
	return &arrival{fd: fd, peer: peer.get()}, nil
}

// arrival is an accepted client; fd is none once it is taken or reset.
type arrival struct {
	fd   int32
	peer netip.AddrPort
}

func (a *arrival) Peer() netip.AddrPort { return a.peer }

func (a *arrival) Local() netip.AddrPort { return localAddress(a.fd) }

func (a *arrival) Reset() {
	if a.fd != none {
		closeNow(a.fd, true)
		a.fd = none
	}
}

func (a *arrival) Leave() (Conn, error) {
	fd := a.fd
	a.fd = none
	return connOf(fd)
}

// openDoor, on the loop, begins to accept from a door.
func (l *loop) openDoor(d *door) {
	for len(l.doorways) <= d.index {
		l.doorways = append(l.doorways, doorway{})
	}
	l.doorways[d.index] = doorway{door: d}
	l.watchDoor(d)
}

// watchDoor has one loop at a time, if it sleeps, wake of a client.
func (l *loop) watchDoor(d *door) {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLEXCLUSIVE, Fd: doorEvent - int32(d.index)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, int(d.fd), &e); err != nil {
		l.shutDoor(&l.doorways[d.index], d.to.AcceptFailed(err, d))
	}
}

func (l *loop) closeDoor(d *door) {
	w := &l.doorways[d.index]
	if w.shutUntil == 0 {
		l.unwatchDoor(d)
	} else {
		l.shut--
	}
	*w = doorway{}
	d.using.Done()
}

func (l *loop) unwatchDoor(d *door) {
	unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, int(d.fd), nil)
}

// shutDoor stops accepting for a while.
func (l *loop) shutDoor(w *doorway, pause time.Duration) {
	if w.shutUntil == 0 {
		l.shut++
	}
	w.shutUntil = l.after(max(pause, time.Millisecond))
}

// openDoors begins again where a pause is over.
func (l *loop) openDoors() {
	for i := range l.doorways {
		if w := &l.doorways[i]; w.shutUntil != 0 && w.shutUntil <= l.ms() {
			w.shutUntil = 0
			l.shut--
			l.watchDoor(w.door)
		}
	}
}

// nextDoor returns when the next pause is over; there is one.
func (l *loop) nextDoor() (at int64) {
	at = math.MaxInt64
	for i := range l.doorways {
		if until := l.doorways[i].shutUntil; until != 0 {
			at = min(at, until)
		}
	}
	return at
}

// acceptSome accepts at most so many clients.
func (l *loop) acceptSome(index int32, most int) {
	w := &l.doorways[index]
	if w.door == nil || w.shutUntil != 0 {
		return // closed in this turn
	}
	for range most {
		fd, errno := accept(w.fd, &l.peer)
		switch errno {
		case 0:
			l.receive(w.door, fd)
		case unix.EAGAIN: // another loop was first
			return
		case unix.ECONNABORTED: // that client's own affair
		default:
			if pause := w.to.AcceptFailed(errno, w.door); pause > 0 {
				l.unwatchDoor(w.door)
				l.shutDoor(w, pause)
			}
			return
		}
	}
}

// receive begins a client's session.
func (l *loop) receive(d *door, fd int32) {
	if d.early.Load() > 0 {
		d.early.Add(-1)
		d.sockets.apply(fd)
	}
	l.arrival = arrival{fd: fd, peer: l.peer.get()}
	s := d.to.Accepted(&l.arrival)
	if s == nil {
		l.arrival.Reset()
		return
	}
	e := d.engine
	e.sessions.Add(1)
	to := e.roomier(l)
	to.sessions.Add(1)
	s.loop = to.index
	leg := fdLeg{fd: fd, tcp: d.tcp}
	if to == l {
		l.open(s, leg)
	} else {
		to.post(command{do: open, s: s, legs: [2]fdLeg{ToClient: leg}})
	}
}

// roomier returns the loop that is to have a session which l accepted: its own, unless
// another has clearly fewer. Moving one wakes another thread.
func (e *Loops) roomier(l *loop) *loop {
	mine, best, least := l.sessions.Load(), l, l.sessions.Load()
	for _, other := range e.loops {
		if n := other.sessions.Load(); n < least {
			best, least = other, n
		}
	}
	if mine-least <= 2+(mine+least)/8 {
		return l
	}
	return best
}
