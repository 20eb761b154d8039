package relay

import (
	"sync"
	"sync/atomic"
)

// largeBuffer is for bulk where splice is not to be had.
const largeBuffer = 64 << 10

// Portable is the Engine for every system: a goroutine for each direction. The
// zero value is ready to use.
type Portable struct {
	// MaxPipes bounds the pipes (two descriptors each) held for bulk transfers at
	// one time; a direction that gets none is copied through a buffer. Zero means no
	// bound; negative means none at all. Set before the first Start.
	MaxPipes int

	pipes        pipeCount
	small, large sync.Pool // of *[]byte
	wg           sync.WaitGroup
}

// Start implements Engine.
func (p *Portable) Start(s *Session) {
	r := newRun(p, s)
	s.run = r
	p.wg.Add(len(r.pumps))
	r.watch()
	go r.pumps[ToBackend].run()
	go r.pumps[ToClient].run()
}

// Kill implements Engine.
func (p *Portable) Kill(s *Session, e End) {
	s.run.conclude(e)
	s.run.cut()
}

// Wait implements Engine.
func (p *Portable) Wait() { p.wg.Wait() }

// Close implements Engine. There is nothing to give back.
func (p *Portable) Close() { p.Wait() }

// takePipe reserves one pipe of MaxPipes.
func (p *Portable) takePipe() bool { return p.pipes.take(p.MaxPipes) }

func (p *Portable) givePipe() { p.pipes.give() }

// pipeCount counts the pipes that an engine holds.
type pipeCount struct{ atomic.Int64 }

// take reserves one of at most so many; zero means any number, negative none.
func (c *pipeCount) take(most int) bool {
	if c.Add(1) <= int64(most) || most == 0 {
		return true
	}
	c.Add(-1)
	return false
}

func (c *pipeCount) give() { c.Add(-1) }

// borrow takes a buffer of the given size from a pool of such.
func borrow(pool *sync.Pool, size int) *[]byte {
	if b, ok := pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, size)
	return &b
}
