package relay

import "time"

// record is what a loop knows of a session. It holds no pointer, so that the
// collector never looks into a table of them.
type record struct {
	generation int32 // of the slot: events for an earlier session carry another
	left       int32 // aborting, settling: what the awaited peer lacked when last asked
	phase      phase
	first      Who           // who ended a direction first, in order
	end        End           // how the session ends, once that is settled
	awaits     Direction     // aborting, settling: the leg whose peer is to acknowledge
	inTurn     bool          // it is in the loop's queue
	queued     bool          // a peer had bytes to acknowledge at the last look
	port       uint16        // opening: that is dialled
	impatient  bool          // opening: when the dial's time is up, the session leaves with it
	legs       [2]fdLeg      // by the direction that leads to them
	lanes      [2]lane       // by direction
	active     time.Duration // when a byte last moved, on the loop's clock
	awaited    time.Duration // aborting, settling: since when a peer is awaited
	look, poll int64         // when inactivity (opening: the dial) and acknowledgements are to be asked for, in ms; 0 = not
}

// phase is where a session is in its life.
type phase uint8

const (
	vacant   phase = iota
	opening        // a backend is being connected
	relaying       // at least one direction goes on
	aborting       // a leg was reset or has died: what the other was sent is let through
	settling       // both directions have ended: the same for both
)

// fdLeg is one of a session's two sockets. What the kernel reported once it may not
// report again, so it is kept: readable until a read found nothing, writable until a
// write found no room.
type fdLeg struct {
	fd          int32
	tcp         bool
	borrowed    bool // from a Conn that closes it
	readable    bool
	writable    bool
	asksRoom    bool // it is registered for room to write
	finished    bool // its peer's direction is over
	hung        bool // both are
	failed      bool // there is, or was, an error
	urgent      bool // TCP urgent data make a read come back short before its end
	unspliced   bool // it cannot be spliced from
	spliced     bool // it was spliced to: an error may have been lost
	shut        bool // its peer is told, or about to be, that no more will come
	read, wrote condition
	inspection
}

func (l *fdLeg) socket() descriptor { return descriptor{int(l.fd), l.tcp} }

func (l *fdLeg) fault() condition { return faultOf(l.read, l.wrote) }

// inOrder tells whether the end of stream that was reported is known to be one that
// the peer sent. The first end of a connection always is; the second one unless an
// error is there, or one may have been consumed.
func (l *fdLeg) inOrder() bool {
	return l.finished && !l.failed && (!l.hung || l.wrote == sound && !l.spliced)
}

// lane is one direction of a session: the bytes in hand and what is known of its end.
type lane struct {
	buffer  int32 // of bytes in hand, in the loop's kept ones; none
	pipe    int32 // of bytes in hand, in the loop's pipes; none
	burst   int32 // bytes moved since the source was last found empty
	bulk    bool  // large pieces come: through a pipe, if there is one
	ended   bool  // the source's end was seen, and is to be passed on after what is in hand
	over    bool
	unsaid  bool // over, and the close that follows is to tell dst's peer
	discard bool // over because dst takes no more: what src says is thrown away
}

// whose returns the party at the end of the leg that a direction leads to.
func whose(d Direction) Who {
	if d == ToBackend {
		return Backend
	}
	return Client
}

func (r *record) conclude(e End) {
	if r.end.Why == Running {
		r.end = e
	}
}

// ending tells whether a direction has ended, in whatever way.
func (r *record) ending() bool {
	_, faulty := r.faulty()
	return faulty || r.first != Nobody || r.end.Why != Running
}

// faulty returns a leg that was reset or has died, if there is one.
func (r *record) faulty() (d Direction, is bool) {
	for d := range r.legs {
		if r.legs[d].fault() != sound {
			return Direction(d), true
		}
	}
	return 0, false
}
