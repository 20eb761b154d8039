package relay

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a connected stream that can end its two directions one at a time:
// *net.TCPConn and *net.UnixConn.
type Conn interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

var (
	_ Conn = (*net.TCPConn)(nil)
	_ Conn = (*net.UnixConn)(nil)
)

// Direction is one of a session's two.
type Direction uint8

// The directions, named by where the bytes go.
const (
	ToBackend Direction = iota
	ToClient
)

var directionNames = [...]string{"to_backend", "to_client"}

func (d Direction) String() string { return directionNames[d] }

// Limits bound a session's inactivity. Zero or less turns a limit off.
type Limits struct {
	Idle      time.Duration // no payload in either direction
	HalfClose time.Duration // the same, once one direction has ended
	// User is the TCP_USER_TIMEOUT that the caller has set on both connections. The
	// relay lifts it from one while its peer keeps the window closed but answers.
	User time.Duration
}

// Session is the record of one relayed session. Fill the exported fields, then
// give it to an Engine.
type Session struct {
	*Ends          // nil in a session that an engine accepted
	Limits *Limits // nil: none
	Owner  Owner

	moved [2]atomic.Int64
	ended atomic.Int64 // Unix nanoseconds; see FirstEnd
	place              // of event loops
}

// Ends are a session's connections. An Engine owns what they hold from Start on, and
// may take it away.
type Ends struct {
	Client  Conn
	Backend Conn
	Pending []byte // bytes received from the client that go to the backend before any other
	Shut    bool   // the client has ended its direction, which was passed on to the backend

	run *run // the portable engine's; nil under another
}

// limits returns the session's limits; zero without any.
func (s *Session) limits() Limits {
	if s.Limits == nil {
		return Limits{}
	}
	return *s.Limits
}

// Owner hears of a session's end.
type Owner interface {
	// RelayEnded is called once, after both connections have been closed: not from
	// within Start or Kill, but perhaps on the goroutine that drives other sessions. So
	// it is not to wait for anything, least of all for the engine.
	RelayEnded(End)
}

// Moved returns the payload bytes delivered to the peer's socket so far. It may be
// called at any time and never falls.
func (s *Session) Moved(d Direction) int64 { return s.moved[d].Load() }

// Carried counts payload that the owner has delivered itself, before Start.
func (s *Session) Carried(d Direction, n int64) { s.moved[d].Add(n) }

// FirstEnd returns when a direction first ended, in whatever way; the zero time before.
func (s *Session) FirstEnd() time.Time {
	if ns := s.ended.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// NoteEnd is for engines: a direction ends now, in whatever way. Only the first call
// counts.
func (s *Session) NoteEnd() {
	if s.ended.Load() == 0 {
		s.ended.CompareAndSwap(0, time.Now().UnixNano())
	}
}

// Engine drives sessions. Its methods may be called from any goroutine.
type Engine interface {
	// Start takes s over and returns at once.
	Start(s *Session)
	// Kill ends a started session: both connections are reset. One that is ending
	// keeps its end but waits for no peer any more; one that has ended is left alone.
	Kill(s *Session, e End)
	// Wait returns when every started session has ended and its owner has been told. A
	// Front's listenings are to be closed before.
	Wait()
	// Close waits likewise, as long as it has to, then gives back what the engine holds for itself. No Start
	// may follow; a second Close does nothing.
	Close()
}

// Turner is an Engine of loops that can be asked whether they turn.
type Turner interface {
	Engine
	// Turns returns nil when every loop has come round since the call, or has ended, and an
	// error that names one which has not when ctx ends before. It wraps ctx's cause.
	Turns(ctx context.Context) error
}

// SetUserTimeout bounds how long what was sent on c may go unacknowledged, in whole
// milliseconds; zero leaves it to the system. Where there is no such option it does
// nothing: keepalive still finds a dead peer that owes no answer.
func SetUserTimeout(c Conn, d time.Duration) error { return setUserTimeout(c, d) }

// Dead tells whether a TCP connection is over in both directions: reset, timed out,
// or ended by both peers. Where the system cannot be asked it returns false.
func Dead(c Conn) bool { return dead(c) }
