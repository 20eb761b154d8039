package relay

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// eventsAtOnce is how many events one wait returns, at most.
	eventsAtOnce = 128
	// bellEvent marks the events of the mailbox's bell; doorEvent, and what is below it,
	// those of doors by their index.
	bellEvent = -1
	doorEvent = -2
	// acceptShare is for how many events of a turn one client more is accepted.
	acceptShare = 8
	// interest is what a socket is registered for. Urgent data are asked for because
	// they make reads come back short; room to write only once a write found none, or a
	// dial is under way, since it would be reported at once.
	interest = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLPRI | unix.EPOLLET
)

// loop drives sessions. Its goroutine runs run, and all of it but the mailbox and the
// count of sessions belongs to that goroutine.
type loop struct {
	index    int32
	sessions atomic.Int32 // given to the loop and not ended
	epoll    int
	mailbox
	engine *Loops

	clock
	events []unix.EpollEvent
	buffer []byte
	kept   keptBuffers
	pipes  pipePool
	wheel  *wheel
	table
	turns    turns
	putOff   []putOff
	doorways []doorway
	shut     int // doors that are
	peer     rawAddress
	arrival  arrival
	fired    []int32
	spare    []command
	ended    []ending // in this turn
	hides    bool     // see sleep
	stopped  bool
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
		engine:  e,
		hides:   runtime.GOMAXPROCS(0) > c.Loops,
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
}

// turn waits until there is something to do, and does it.
func (l *loop) turn() {
	n := l.wait()
	l.obey()
	for i := range l.events[:n] {
		l.event(&l.events[i], n)
	}
	l.fire()
	if l.shut > 0 {
		l.openDoors()
	}
	l.takePutOff()
	l.takeTurns()
	l.tell()
}

// wait returns how many events there are. It waits for one, a command or a timer,
// unless sessions are waiting for their turn.
func (l *loop) wait() int {
	if l.turns.any() || len(l.putOff) > 0 {
		return pollEvents(l.epoll, l.events, 0)
	}
	timeout := l.untilTimer()
	l.asleep.Store(true)
	if l.full.Load() {
		timeout = 0
	}
	n := l.sleep(timeout)
	l.asleep.Store(false)
	return n
}

// sleep waits for events for so many ms; less than zero is for ever. A short sleep is
// kept from the scheduler, if that can spare the processor: it would give the
// processor to another thread and take it back, and its monitor would look for
// sleepers fifty times a millisecond, which is a twentieth of what a session costs.
// A signal, by which the scheduler stops a thread that it believes busy, ends the
// sleep.
func (l *loop) sleep(timeout int) int {
	short := shortSleep
	if !l.hides {
		short = 0
	}
	if timeout >= 0 && timeout <= short {
		return pollEvents(l.epoll, l.events, timeout)
	}
	if l.hides {
		if n := pollEvents(l.epoll, l.events, short); n > 0 || l.full.Load() {
			return n
		}
		if timeout > 0 {
			timeout -= short
		}
	}
	n, err := unix.EpollWait(l.epoll, l.events, timeout)
	if err != nil {
		return 0 // interrupted
	}
	return n
}

// shortSleep is in ms.
const shortSleep = 4

// untilTimer returns in how many ms the next timer is due; -1 without any.
func (l *loop) untilTimer() int {
	at, any := l.wheel.next()
	if !any && l.shut == 0 {
		return -1
	}
	if l.shut > 0 {
		if next := l.nextDoor(); !any || next < at {
			at = next
		}
	}
	l.tick()
	return int(max(0, min(at-l.ms(), maxTimeout)))
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
		case open:
			l.open(c.s, c.legs[ToClient])
		case openDoor:
			l.openDoor(c.door)
		case closeDoor:
			l.closeDoor(c.door)
		case kill:
			if l.slotOf(c.s) != none {
				l.end(c.s.slot, c.end)
			}
		case ping:
			c.came <- l.index
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
// A loop that has much to do accepts more at once, so that neither starves the other.
func (l *loop) event(e *unix.EpollEvent, events int) {
	switch {
	case e.Fd == bellEvent:
		return
	case e.Fd <= doorEvent:
		l.acceptSome(doorEvent-e.Fd, 1+events/acceptShare)
		return
	}
	slot, leg := e.Fd>>1, e.Fd&1
	r := l.record(slot)
	if r.generation != e.Pad || r.phase == vacant {
		return // of an earlier session
	}
	if r.phase == opening {
		l.dialEvent(slot, e.Events)
		return
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
		r := l.record(slot)
		if r.poll != 0 && r.poll <= now {
			r.poll = 0
			if l.letThrough(slot); r.phase == vacant {
				continue
			}
		}
		if r.look != 0 && r.look <= now {
			r.look = 0
			if l.due(slot); r.phase == vacant {
				continue
			}
		}
		l.arm(slot)
	}
}

// due acts on the end of what a session waits for: a dial, or a time without a byte.
func (l *loop) due(slot int32) {
	switch r := l.record(slot); {
	case r.phase != opening:
		l.look(slot)
	case r.impatient:
		l.leaveDialling(slot)
	default:
		l.take(slot, l.dialFailed(slot, os.ErrDeadlineExceeded))
	}
}

// tell tells owners of the ends of this turn.
func (l *loop) tell() {
	for i := range l.ended {
		l.ended[i].s.Owner.RelayEnded(l.ended[i].end)
		l.ended[i] = ending{}
		l.engine.sessions.Done()
	}
	l.ended = l.ended[:0]
}

// ending is a session that has ended.
type ending struct {
	s   *Session
	end End
}

// arm sets the timer for the earlier of what a session waits for.
func (l *loop) arm(slot int32) {
	r := l.record(slot)
	switch due := min(r.look, r.poll); {
	case due > 0:
		l.wheel.set(slot, due)
	case r.look > 0 || r.poll > 0:
		l.wheel.set(slot, max(r.look, r.poll))
	default:
		l.wheel.clear(slot)
	}
}
