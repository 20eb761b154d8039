package relay

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// eventsAtOnce is how many events one wait returns, at most.
	eventsAtOnce = 128
	// bellEvent marks the events of the mailbox's bell.
	bellEvent = -1
	// interest is what a socket is registered for, once. Urgent data are asked for
	// because they make reads come back short.
	interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLPRI | unix.EPOLLET
)

// loop drives sessions. Its goroutine runs run, and all of it but the mailbox, the
// teller and the count of sessions belongs to that goroutine.
type loop struct {
	index    int32
	sessions atomic.Int32 // given to the loop and not ended
	epoll    int
	mailbox
	teller *teller

	clock
	events  []unix.EpollEvent
	buffer  []byte
	kept    keptBuffers
	pipes   pipePool
	wheel   *wheel
	records []record
	owners  []*Session // by slot, as the records
	vacant  []int32    // slots
	turns   turns
	fired   []int32
	spare   []command
	ended   []ending // in this turn
	stopped bool
}

func newLoop(e *Loops, index int32, c LoopsConfig) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return nil, err
	}
	err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, bell, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: bellEvent})
	if err != nil {
		unix.Close(epoll)
		unix.Close(bell)
		return nil, err
	}
	return &loop{
		index:   index,
		epoll:   epoll,
		mailbox: mailbox{bell: bell},
		teller:  newTeller(e),
		clock:   clock{began: time.Now()},
		events:  make([]unix.EpollEvent, eventsAtOnce),
		buffer:  make([]byte, loopBuffer),
		pipes:   newPipePool(&e.pipes, c.MaxPipes, c.Loops),
		wheel:   newWheel(),
	}, nil
}

// run takes turns until the loop is stopped. The thread is the loop's own: it spends
// most of its time in system calls.
func (l *loop) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for !l.stopped {
		l.turn()
	}
	l.pipes.close()
	l.mailbox.close()
	unix.Close(l.epoll)
	close(l.teller.wake)
}

// turn waits until there is something to do, and does it.
func (l *loop) turn() {
	n := l.wait()
	l.obey()
	for i := range l.events[:n] {
		l.event(&l.events[i])
	}
	l.fire()
	l.takeTurns()
	if len(l.ended) > 0 {
		l.teller.add(l.ended)
		clear(l.ended)
		l.ended = l.ended[:0]
	}
}

// wait returns how many events there are. It waits for one, a command or a timer,
// unless sessions are waiting for their turn.
func (l *loop) wait() int {
	// Going to sleep and being woken cost several times as much as this look.
	if n := pollEvents(l.epoll, l.events); n > 0 || l.turns.any() {
		return n
	}
	timeout := -1
	if at, any := l.wheel.next(); any {
		l.tick()
		timeout = int(max(0, min(at-l.ms(), maxTimeout)))
	}
	l.asleep.Store(true)
	if l.full.Load() {
		timeout = 0
	}
	n, err := unix.EpollWait(l.epoll, l.events, timeout)
	l.asleep.Store(false)
	if err != nil {
		return 0 // interrupted
	}
	return n
}

// maxTimeout is the longest wait, in ms: epoll takes an int32.
const maxTimeout = 1 << 30

// obey does what was asked of the loop, after the clock has been set.
func (l *loop) obey() {
	posted := l.collect(l.spare)
	l.tick()
	for i := range posted {
		switch c := &posted[i]; c.do {
		case adopt:
			l.adopt(c.s, &c.legs)
		case kill:
			if l.slotOf(c.s) != none {
				l.end(c.s.slot, c.end)
			}
		case stop:
			l.stopped = true
		}
	}
	if posted != nil {
		clear(posted)
		l.spare = posted
	}
}

// event takes note of what the kernel reports and lets the session act on it.
func (l *loop) event(e *unix.EpollEvent) {
	if e.Fd == bellEvent {
		return
	}
	slot, leg := e.Fd>>1, e.Fd&1
	r := &l.records[slot]
	if r.generation != e.Pad || r.phase == vacant {
		return // of an earlier session
	}
	r.legs[leg].note(e.Events)
	if r.lanes[ToBackend].bulk || r.lanes[ToClient].bulk {
		l.enqueue(slot)
	} else {
		l.drive(slot)
	}
}

func (l *fdLeg) note(events uint32) {
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLPRI) != 0 {
		l.readable = true
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.writable = true
	}
	l.finished = l.finished || events&unix.EPOLLRDHUP != 0
	l.hung = l.hung || events&unix.EPOLLHUP != 0
	l.failed = l.failed || events&unix.EPOLLERR != 0
	l.urgent = l.urgent || events&unix.EPOLLPRI != 0
}

// fire acts on the timers that are due.
func (l *loop) fire() {
	now := l.ms()
	l.fired = l.wheel.advance(now, l.fired[:0])
	for _, slot := range l.fired {
		r := &l.records[slot]
		if r.poll != 0 && r.poll <= now {
			r.poll = 0
			if l.letThrough(slot); r.phase == vacant {
				continue
			}
		}
		if r.look != 0 && r.look <= now {
			r.look = 0
			if l.look(slot); r.phase == vacant {
				continue
			}
		}
		l.arm(slot)
	}
}

// arm sets the timer for the earlier of what a session waits for.
func (l *loop) arm(slot int32) {
	r := &l.records[slot]
	switch due := min(r.look, r.poll); {
	case due > 0:
		l.wheel.set(slot, due)
	case r.look > 0 || r.poll > 0:
		l.wheel.set(slot, max(r.look, r.poll))
	default:
		l.wheel.clear(slot)
	}
}
