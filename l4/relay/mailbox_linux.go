package relay

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// command is what other goroutines ask of a loop.
type command struct {
	do   order
	s    *Session
	legs [2]fdLeg // of adopt, and of open the client's
	end  End      // of kill
	door *door
	came chan<- int32 // of ping: gets the loop's index; it has room
}

type order uint8

const (
	adopt     order = iota // drive s from now on
	open                   // find s a backend, then drive it
	kill                   // end s
	openDoor               // accept from door
	closeDoor              // do not any more
	ping                   // say that you came round
	stop                   // end the loop
)

// mailbox brings commands to a loop in the order of their posting.
type mailbox struct {
	full   atomic.Bool // there are commands
	asleep atomic.Bool // the loop waits, or is about to, and looked at full after saying so
	bell   int         // an eventfd in the loop's epoll: every write is an edge

	mu       sync.Mutex // guards the rest, and the bell against being rung when closed
	commands []command
	closed   bool
}

// post leaves a command. After close it is ignored, and false returned: all sessions have
// ended then.
func (m *mailbox) post(c command) (left bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.commands = append(m.commands, c)
	m.full.Store(true)
	if m.asleep.Swap(false) {
		one := [8]byte{0: 1}
		unix.Write(m.bell, one[:]) // fails only when the counter is full, and then the loop is awake
	}
	return true
}

// collect returns the commands posted since the last time. spare is used for the next.
func (m *mailbox) collect(spare []command) []command {
	if !m.full.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full.Store(false)
	posted := m.commands
	m.commands = spare[:0]
	return posted
}

func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	unix.Close(m.bell)
}
