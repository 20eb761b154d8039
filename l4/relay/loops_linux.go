package relay

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// LoopsConfig is the configuration of a Loops. The zero value is usable.
type LoopsConfig struct {
	// Loops is how many event loops there are; zero or less means one less than
	// GOMAXPROCS, but at least one. With one processor to spare they cost less.
	Loops int
	// MaxPipes bounds the pipes (two descriptors each), spare ones included, held for
	// bulk transfers; a direction that gets none is copied through a buffer. Zero
	// means no bound; negative means none at all.
	MaxPipes int
}

// count returns how many loops there are to be.
func (c LoopsConfig) count() int {
	if c.Loops > 0 {
		return c.Loops
	}
	return max(1, runtime.GOMAXPROCS(0)-1)
}

// Descriptors returns how many the loops hold for themselves: an epoll and its wake-up
// each.
func (c LoopsConfig) Descriptors() int { return 2 * c.count() }

// Loops is the Engine of event loops: a goroutine with an epoll of its own for each
// processor. An idle session is a record in its loop's table and two descriptors. It is a
// Front.
type Loops struct {
	loops    []*loop
	pipes    pipeCount
	paced    bool           // loopback, unless a socket asks for better
	doorsMu  sync.Mutex     // guards doors
	doors    []*door        // nil: closed
	turn     atomic.Uint32  // where Start looks for a loop first
	sessions sync.WaitGroup // of which the owner has not been told the end
	running  sync.WaitGroup // the goroutines
	closing  sync.Once
}

// NewLoops starts the loops, which run until Close. It fails when the process is out
// of descriptors.
func NewLoops(c LoopsConfig) (*Loops, error) {
	c.Loops = c.count()
	e := &Loops{paced: paces()}
	for i := range c.Loops {
		l, err := newLoop(e, int32(i), c)
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("relay: event loop: %w", err)
		}
		e.loops = append(e.loops, l)
		e.running.Go(l.run)
	}
	return e, nil
}

// Start implements Engine. It takes the sockets away from package net and sets the
// session's connections to nil.
func (e *Loops) Start(s *Session) {
	e.sessions.Add(1)
	l := e.emptiest()
	l.sessions.Add(1)
	s.loop = l.index
	client, backend := takeOver(&s.Client), takeOver(&s.Backend)
	l.post(command{do: adopt, s: s, legs: [2]fdLeg{ToBackend: backend, ToClient: client}})
}

// emptiest returns the loop with the fewest sessions, in turn of several.
func (e *Loops) emptiest() *loop {
	n := uint32(len(e.loops))
	first := e.turn.Add(1)
	best := e.loops[first%n]
	for i := uint32(1); i < n; i++ {
		if l := e.loops[(first+i)%n]; l.sessions.Load() < best.sessions.Load() {
			best = l
		}
	}
	return best
}

// Kill implements Engine.
func (e *Loops) Kill(s *Session, end End) {
	e.loops[s.loop].post(command{do: kill, s: s, end: end})
}

// Wait implements Engine.
func (e *Loops) Wait() { e.sessions.Wait() }

// Turns implements Turner.
func (e *Loops) Turns(ctx context.Context) error {
	came := make(chan int32, len(e.loops))
	var asked, answered uint64 // a bit for each loop; more than 64 share them
	left := 0
	for _, l := range e.loops {
		if l.post(command{do: ping, came: came}) {
			asked |= 1 << (l.index % 64)
			left++
		}
	}
	for ; left > 0; left-- {
		select {
		case i := <-came:
			answered |= 1 << (i % 64)
		case <-ctx.Done():
			return fmt.Errorf("relay: %d of %d event loops do not come round, the first is number %d: %w",
				left, len(e.loops), bits.TrailingZeros64(asked&^answered), context.Cause(ctx))
		}
	}
	return nil
}

// Close implements Engine.
func (e *Loops) Close() {
	e.Wait()
	e.closing.Do(func() {
		for _, l := range e.loops {
			l.post(command{do: stop})
		}
	})
	e.running.Wait()
}
