//go:build !linux

package relay

// smallBuffer is what a direction holds while it waits.
const smallBuffer = 4 << 10

// receiver is what a pump reads with.
type receiver struct{ buf *[]byte }

func (p *pump) receive() ([]byte, error) {
	p.buf = borrow(&p.r.engine.small, smallBuffer)
	n, err := p.src.conn.Read(*p.buf)
	return (*p.buf)[:n], err
}

func (p *pump) release() {
	p.r.engine.small.Put(p.buf)
	p.buf = nil
}

// awaitDeath cannot be told here: whoever writes to src next sees it, or a limit ends
// the session.
func (p *pump) awaitDeath() {}
