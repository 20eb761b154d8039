package relay

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
)

// condition is what became of a connection, told by the first call that failed on
// it.
type condition uint32

const (
	sound     condition = iota
	reset               // aborted by its peer
	pipe                // written to after its peer had closed: the reset followed an end of stream
	timeout             // its peer stopped answering
	shutSpins = 1000    // how often a reader looks for the verdict of a write on its way
)

// leg is one of a session's two connections. Two pumps use it, one reads and one
// writes, and the kernel reports a reset to only one of them: the other reads an end
// of stream or writes into a closed pipe. So each notes what it saw, and
// who reads an end of stream asks hidden first.
type leg struct {
	conn  Conn
	who   Who
	shut  atomic.Bool   // its peer has been told of the end of the other direction
	read  atomic.Uint32 // condition seen by the pump that reads
	wrote atomic.Uint32 // condition seen by the pump that writes

	lifted bool // its TCP_USER_TIMEOUT is; guarded by the watchdog's mutex
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
// death) whose error a write on l consumed.
func (l *leg) hidden() bool {
	if l.shut.Load() {
		return false // nobody writes any more, so nobody can have consumed it
	}
	if l.wrote.Load() == uint32(sound) {
		if !dead(l.conn) {
			return false
		}
		if pendingError(l.conn) {
			return false // the reader sees a reset that came without an end of stream before anyone else does
		}
	}
	for range shutSpins {
		if c := condition(l.wrote.Load()); c != sound {
			return c != pipe
		}
		runtime.Gosched() // the write has consumed the error and is about to say so
	}
	return false
}
