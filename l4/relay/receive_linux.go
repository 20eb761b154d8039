package relay

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// smallBuffer is held only while there is something in it.
const smallBuffer = 16 << 10

// receiver is what a pump reads with: it waits without a buffer, so that an idle
// session holds none.
type receiver struct {
	raw syscall.RawConn
	try func(fd uintptr) (done bool) // tryRead, bound once
	buf *[]byte
	n   int
	err error
}

// receive waits for bytes from src and returns them until release is called. At an
// end of stream it returns io.EOF.
func (p *pump) receive() ([]byte, error) {
	if p.raw == nil {
		var err error
		if p.raw, err = p.src.conn.SyscallConn(); err != nil {
			return nil, err
		}
		p.try = p.tryRead
	}
	if err := p.raw.Read(p.try); err != nil {
		return nil, err
	}
	if p.n == 0 && p.err == nil {
		return nil, io.EOF
	}
	return (*p.buf)[:p.n], p.err
}

// tryRead reads into a buffer from the pool, and gives it back if there is nothing.
func (p *pump) tryRead(fd uintptr) (done bool) {
	p.buf = borrow(&p.r.engine.small, smallBuffer)
	for {
		p.n, p.err = unix.Read(int(fd), *p.buf)
		p.n = max(p.n, 0)
		switch p.err {
		case unix.EINTR:
		case unix.EAGAIN:
			p.release()
			return false
		default:
			return true
		}
	}
}

// release gives the buffer of the last receive back.
func (p *pump) release() {
	if p.buf != nil {
		p.r.engine.small.Put(p.buf)
		p.buf = nil
	}
}

// awaitDeath waits until src is dead, and then ends the session, or until the session
// is over.
func (p *pump) awaitDeath() {
	if p.raw == nil {
		return
	}
	died := func(uintptr) bool { return dead(p.src.conn) }
	if p.raw.Read(died) != nil {
		return
	}
	p.r.touch()
	p.src.bury()
	if p.src.fault() != sound { // the watchdog may have been first to note it
		p.r.abort(p.src)
	}
}
