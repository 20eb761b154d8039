package relay

import (
	"sync"
	"testing"
)

// monotone reads a session's counters in some goroutines until stopped.
func monotone(t *testing.T, s *Session) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var last [2]int64
			for {
				for d := range last {
					n := s.Moved(Direction(d))
					if n < last[d] {
						t.Errorf("the count %v fell from %d to %d", Direction(d), last[d], n)
					}
					last[d] = n
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

func TestCountersAreTrueWhileTheSessionLives(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		stop := monotone(t, l.Session)
		defer stop()
		var off int64
		for _, n := range []int64{1, 100, 4096, 3<<20 + 1} {
			wrote := async(func() error { return flowOf(s.dir).send(s.near, off, n, 100_000) })
			if err := flowOf(s.dir).expect(s.far, off, n); err != nil {
				t.Fatal(err)
			}
			if err := result(t, "the sender", wrote); err != nil {
				t.Fatal(err)
			}
			off += n
			eventually(t, "the counter to tell the truth", func() bool { return l.Moved(s.dir) == off })
		}
		if n := l.Moved(1 - s.dir); n != 0 {
			t.Errorf("%d bytes counted the other way", n)
		}
	})
}

func TestCountersGrowDuringABulkTransfer(t *testing.T) {
	const step = 4 * spliceChunk
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		wrote := async(func() error { return down.send(l.backend, 0, 1<<40, 1<<20) })
		for off := int64(0); off < 64<<20; off += step {
			if err := down.expect(l.client, off, step); err != nil {
				t.Fatal(err)
			}
			if n := l.Moved(ToClient); n < off+step-spliceChunk {
				t.Errorf("the client has %d bytes, the counter is at %d", off+step, n)
			}
		}
		e.Kill(l.Session, killed)
		if err := result(t, "the sender's error", wrote); err == nil {
			t.Error("the sender was never told")
		}
	})
}

func TestCountersAreExactAtTheEnd(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		stop := monotone(t, l.Session)
		exchange(t, l, 5<<20, 3<<20, 33_333)
		stop()
		l.expectMoved(t, 5<<20, 3<<20)
	})
}

func TestWhatAStuckReaderTookIsCounted(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		sent := clog(t, s.near, flowOf(s.dir))
		e.Kill(l.Session, killed)
		l.expectEnd(t, killed)
		if n := l.Moved(s.dir); n <= 0 || n > sent {
			t.Errorf("%d bytes counted of %d sent", n, sent)
		}
	})
}
