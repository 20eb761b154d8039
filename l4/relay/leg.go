package relay

import (
	"errors"
	"sync/atomic"
	"syscall"
)

// condition is what became of a connection, told by the first call that failed on
// it.
type condition uint8

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

	inspection // guarded by the watchdog's mutex
}

// fault returns the condition of the leg as far as either pump knows.
func (l *leg) fault() condition {
	return faultOf(condition(l.read.Load()), condition(l.wrote.Load()))
}

func (l *leg) verdict() End { return verdictOn(l.who, l.fault()) }

// faultOf returns the condition of a leg from what reading and writing it saw.
func faultOf(read, wrote condition) condition {
	if read != sound {
		return read
	}
	return wrote
}

// verdictOn returns how a session ends that a leg in condition c ends.
func verdictOn(who Who, c condition) End {
	if c == timeout {
		return End{who, Timeout}
	}
	return End{who, Reset}
}

// bury notes the condition of a dead leg that neither pump has seen yet. One whose
// peer was told of the end before may be dead in all order.
func (l *leg) bury() (news bool) {
	if l.shut.Load() || l.fault() != sound {
		return false
	}
	return l.wrote.CompareAndSwap(uint32(sound), uint32(causeOfDeath(asked{l.conn})))
}

// causeOfDeath takes the error of a dead socket. Where somebody else has, it was a reset.
func causeOfDeath[S socket](s S) condition {
	if err := s.pendingError(); err != nil {
		return conditionOf(err)
	}
	return reset
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

// hidden tells whether an end of stream just read from l is in truth a reset.
func (l *leg) hidden() bool { return hidden(asked{l.conn}, condition(l.wrote.Load())) }

// hidden tells whether an end of stream just read from s is in truth a reset (or a
// death) whose error a write on s consumed. What the writer saw does not tell where
// the system does: it may be on its way still, and a splice that consumed the error
// after part of its bytes reports it as a closed pipe.
func hidden[S socket](s S, wrote condition) bool {
	if orderly, known := s.orderly(); known {
		return !orderly
	}
	return wrote != sound && wrote != pipe
}
