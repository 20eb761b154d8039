package relay

import (
	"errors"
	"sync/atomic"
	"syscall"
)

// condition is what became of a connection, told by the first call that failed on
// it.
type condition uint32

const (
	sound   condition = iota
	reset             // aborted by its peer
	pipe              // written to after its peer had closed: the reset followed an end of stream
	timeout           // its peer stopped answering
)

// leg is one of a session's two connections. Two pumps use it, one reads and one
// writes, and the kernel reports a reset to only one of them: the other reads an end
// of stream or writes into a closed pipe. So each notes what it saw, and
// who reads an end of stream asks hidden first.
type leg struct {
	conn  Conn
	who   Who
	read  atomic.Uint32 // condition seen by the pump that reads
	wrote atomic.Uint32 // condition seen by the pump that writes, or by the watchdog
	shut  atomic.Bool   // its peer is told, or about to be, that no more will come

	// As of the last inspection; guarded by the watchdog's mutex.
	lifted bool   // its TCP_USER_TIMEOUT is
	queued bool   // its peer had bytes to acknowledge
	acked  uint64 // how many it had acknowledged
	moved  bool   // and whether those were more than at the inspection before
}

// fault returns the condition of the leg as far as either pump knows.
func (l *leg) fault() condition {
	if c := condition(l.read.Load()); c != sound {
		return c
	}
	return condition(l.wrote.Load())
}

func (l *leg) verdict() End {
	if l.fault() == timeout {
		return End{l.who, Timeout}
	}
	return End{l.who, Reset}
}

// bury notes the condition of a dead leg that neither pump has seen yet. One whose
// peer was told of the end before may be dead in all order.
func (l *leg) bury() (news bool) {
	if l.shut.Load() || l.fault() != sound {
		return false
	}
	c := reset
	if err := pendingError(l.conn); err != nil {
		c = conditionOf(err)
	}
	return l.wrote.CompareAndSwap(uint32(sound), uint32(c))
}

// conditionOf classifies the error of a failed read or write.
func conditionOf(err error) condition {
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.EPIPE):
		return pipe
	case errors.As(err, &errno) && (errno.Timeout() || errno == syscall.EHOSTUNREACH || errno == syscall.ENETUNREACH):
		return timeout
	}
	return reset
}

// hidden tells whether an end of stream just read from l is in truth a reset (or a
// death) whose error a write on l consumed. The writer's verdict does not tell where
// the system does: it may be on its way still, and a splice that consumed the error
// after part of its bytes reports it as a closed pipe.
func (l *leg) hidden() bool {
	if orderly, known := orderly(l.conn); known {
		return !orderly
	}
	c := condition(l.wrote.Load())
	return c != sound && c != pipe
}
