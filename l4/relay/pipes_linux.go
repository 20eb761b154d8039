package relay

import "golang.org/x/sys/unix"

const (
	// pipeSize is what one splice moves at most, and what an engine's first pipes are
	// made to hold. The others stay as the system makes them: beyond
	// fs.pipe-user-pages-soft, 64 MB, it gives an ordinary user pipes of two pages.
	pipeSize   = 1 << 20
	largePipes = 32
	// sparePipes is how many empty ones a loop keeps, at most.
	sparePipes = 8
)

// fdPipe is a pipe of a loop.
type fdPipe struct {
	r, w int32
	n    int32 // bytes in it
}

// pipePool holds a loop's pipes. A pipe is known by its index.
type pipePool struct {
	count *pipeCount // the engine's
	most  int        // that count may reach
	keep  int        // spare ones
	pipes []fdPipe
	spare []int32 // open and empty
	gone  []int32 // closed
}

func newPipePool(count *pipeCount, most, loops int) pipePool {
	p := pipePool{count: count, most: most, keep: sparePipes}
	if most > 0 {
		p.keep = min(p.keep, most/loops) // what one loop keeps, another cannot have
	}
	return p
}

// take returns an empty pipe, or none.
func (p *pipePool) take() int32 {
	if n := len(p.spare); n > 0 {
		i := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return i
	}
	if !p.count.take(p.most) {
		return none
	}
	var fds [2]int
	if unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC) != nil {
		p.count.give()
		return none
	}
	if p.count.Load() <= largePipes {
		unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeSize) // a smaller one will do
	}
	made := fdPipe{r: int32(fds[0]), w: int32(fds[1])}
	if n := len(p.gone); n > 0 {
		i := p.gone[n-1]
		p.gone = p.gone[:n-1]
		p.pipes[i] = made
		return i
	}
	p.pipes = append(p.pipes, made)
	return int32(len(p.pipes) - 1)
}

// give returns a pipe that was taken, and forgets what is in it.
func (p *pipePool) give(i int32) {
	if p.pipes[i].n == 0 && len(p.spare) < p.keep {
		p.spare = append(p.spare, i)
		return
	}
	closeNow(p.pipes[i].r, false)
	closeNow(p.pipes[i].w, false)
	p.gone = append(p.gone, i)
	p.count.give()
}

func (p *pipePool) close() {
	p.keep = 0
	for _, i := range p.spare {
		p.give(i)
	}
	p.spare = nil
}
