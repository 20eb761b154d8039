package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// spliceChunk is the most one call splices: what a slow reader can hold back from
// the counters. A direction that moves less than largeBuffer in a tick is quiet.
const spliceChunk = 1 << 20

// pump moves one direction. Its goroutine runs run and nothing else.
type pump struct {
	r        *run
	dir      Direction
	src, dst *leg
	limited  io.LimitedReader // of splice, kept here so that a chunk allocates nothing
	receiver
}

func (p *pump) run() {
	defer p.r.engine.wg.Done()
	p.relay()
	if !p.r.done() {
		p.linger()
	}
}

// linger stays with src after the direction is over, until the session is. Of a src
// that has ended in order it waits for a reset, which nobody else would see. What a
// src has to say to a dst that takes no more is thrown away: as long as src is stuck
// in that it may not read what dst sent before.
func (p *pump) linger() {
	if p.dst.fault() == sound {
		p.awaitDeath()
		return
	}
	for {
		_, err := p.receive()
		p.release()
		if err != nil {
			return
		}
	}
}

// relay moves bytes until the direction has ended, and passes the end on.
func (p *pump) relay() {
	if p.dir == ToBackend && len(p.r.s.Pending) > 0 && !p.deliver(p.r.s.Pending) {
		return
	}
	for {
		buf, err := p.receive()
		n := len(buf)
		more := n == 0 || p.deliver(buf)
		p.release()
		switch {
		case !more:
			return
		case err != nil:
			p.sourceEnded(err)
			return
		case n == smallBuffer && !p.bulk():
			return
		}
	}
}

// deliver writes b to dst and counts it; false means that the direction is over.
func (p *pump) deliver(b []byte) bool {
	n, err := p.dst.conn.Write(b)
	p.r.count(p.dir, int64(n))
	if err != nil {
		p.destinationFailed(err)
	}
	return err == nil
}

// bulk moves large pieces until src is quiet; false means that the direction is over.
func (p *pump) bulk() bool {
	if to, ok := splicer(p.dst.conn, p.src.conn); ok && p.r.engine.takePipe() {
		defer p.r.engine.givePipe()
		return p.splice(to)
	}
	return p.copy()
}

// splice is bulk through a pipe. The read deadline takes effect only between two
// fillings of the pipe, never with bytes in it. None is left behind: it would wake
// linger.
func (p *pump) splice(to io.ReaderFrom) bool {
	defer p.src.conn.SetReadDeadline(time.Time{})
	for {
		p.src.conn.SetReadDeadline(time.Now().Add(p.r.tick()))
		p.limited = io.LimitedReader{R: p.src.conn, N: spliceChunk}
		n, err := to.ReadFrom(&p.limited)
		p.r.count(p.dir, n)
		switch {
		case err == nil && n == spliceChunk:
		case err == nil:
			return true // an end, or the mark of urgent data before one: a read tells
		case errors.Is(err, os.ErrDeadlineExceeded):
			if n < largeBuffer {
				return true
			}
		case dead(p.dst.conn) && pendingError(p.dst.conn) == nil: // consumed: it was the write that failed
			p.destinationFailed(err)
			return false
		default:
			p.sourceEnded(err)
			return false
		}
	}
}

// copy is bulk through a larger buffer, until a read does not fill half of it.
func (p *pump) copy() bool {
	pool := &p.r.engine.large
	buf := borrow(pool, largeBuffer)
	defer pool.Put(buf)
	for {
		n, err := p.src.conn.Read(*buf)
		if n > 0 && !p.deliver((*buf)[:n]) {
			return false
		}
		if err != nil {
			p.sourceEnded(err)
			return false
		}
		if n < len(*buf)/2 {
			return true
		}
	}
}

// sourceEnded handles the end of what src sends: in order, or not.
func (p *pump) sourceEnded(err error) {
	switch {
	case errors.Is(err, net.ErrClosed): // by us
	case err == io.EOF && !p.src.hidden():
		p.passEnd()
	default:
		p.r.touch()
		if err != io.EOF {
			p.src.read.Store(uint32(conditionOf(err)))
		}
		p.r.abort(p.src)
	}
}

// passEnd tells dst's peer that no more will come.
func (p *pump) passEnd() {
	p.r.s.NoteEnd()
	p.r.touch() // before the end is known, from when on half_close counts
	p.r.first.CompareAndSwap(0, uint32(p.src.who))
	p.dst.shut.Store(true)
	p.dst.conn.CloseWrite() // fails only if the peer has reset it, which the other pump sees
	p.r.watch()
}

// destinationFailed notes that dst takes no more. What dst's peer sent before is
// still to be delivered: the other pump does that, then ends the session.
func (p *pump) destinationFailed(err error) {
	if !errors.Is(err, net.ErrClosed) {
		p.r.touch()
		p.dst.wrote.CompareAndSwap(0, uint32(conditionOf(err)))
		p.r.watch()
	}
}
