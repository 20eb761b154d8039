package relay

import (
	"fmt"
	"io"
	"sync"
	"testing"
)

func TestAResetReachesTheOtherSideAfterTheBytesBeforeIt(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		for _, size := range []int64{0, 1, 1000, 4096, 64 << 10, 4 << 20} {
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				l := start(t, e, setup{})
				s := l.side(who)
				got := async(func() seen { return flowOf(s.dir).drain(s.far, 32<<10) })
				if err := flowOf(s.dir).send(s.near, 0, size, 64<<10); err != nil {
					t.Fatal(err)
				}
				settle(t, s.near)
				resetClose(s.near)
				expectSeen(t, s.other.String(), result(t, "the reader", got), seen{size, "reset"})
				l.expectEnd(t, End{who, Reset})
			})
		}
	})
}

func TestAResetIsHeardByAReaderThatComesLater(t *testing.T) {
	const size = 48 << 10 // less than the far end's kernel takes unread
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		if err := flowOf(s.dir).send(s.near, 0, size, size); err != nil {
			t.Fatal(err)
		}
		settle(t, s.near)
		resetClose(s.near)
		l.expectEnd(t, End{who, Reset}) // only now does the far end begin to read
		expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 1000), seen{size, "reset"})
	})
}

func TestAResetWaitsForASlowReader(t *testing.T) {
	const size = 6 << 20
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{readBuffer: 16 << 10})
		s := l.side(who)
		sent := async(func() error { return flowOf(s.dir).send(s.near, 0, size, 100_000) })
		got := async(func() seen { return flowOf(s.dir).drain(s.far, 3000) })
		if err := result(t, "the sender", sent); err != nil {
			t.Fatal(err)
		}
		settle(t, s.near)
		resetClose(s.near)
		expectSeen(t, s.other.String(), result(t, "the reader", got), seen{size, "reset"})
		l.expectEnd(t, End{who, Reset})
	})
}

// A write towards the end that resets takes the error away from the read: whatever
// the order, the other end must not take the reset for an end of stream.
func TestAResetWhileTheOtherSideSendsNeverLooksLikeAnEndOfStream(t *testing.T) {
	const sessions, parallel, reply = 100, 8, 5000
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		var wg sync.WaitGroup
		for worker := range parallel {
			wg.Go(func() {
				for i := worker; i < sessions && !t.Failed(); i += parallel {
					resetWhileSending(t, e, who, reply, int64(i)*1511)
				}
			})
		}
		wg.Wait()
	})
}

// resetWhileSending lets one end send for ever; the other takes some of it, answers
// and resets.
func resetWhileSending(t *testing.T, e Engine, who Who, reply, taken int64) {
	l := start(t, e, setup{})
	s := l.side(who)
	wrote := async(func() error { return flowOf(1-s.dir).send(s.far, 0, 1<<40, 50_000) })
	read := async(func() seen { return flowOf(s.dir).drain(s.far, 32<<10) })
	if err := flowOf(s.dir).send(s.near, 0, reply, 1<<20); err != nil {
		t.Error(err)
	}
	if err := flowOf(1-s.dir).expect(s.near, 0, taken); err != nil {
		t.Error(err)
	}
	settle(t, s.near)
	resetClose(s.near)
	got, failure := <-read, kind(<-wrote)
	if got.n != reply || got.end != "reset" && failure != "reset" {
		t.Errorf("after %d bytes the %v read %d bytes and %q, and its write failed with %q",
			taken, s.other, got.n, got.end, failure)
	}
	l.expectEnd(t, End{who, Reset})
}

func TestAResetAfterAHalfCloseIsPassedOn(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		if err := flowOf(s.dir).send(s.near, 0, 1000, 1000); err != nil {
			t.Fatal(err)
		}
		s.near.CloseWrite()
		expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 1000), seen{1000, "eof"})
		resetClose(s.near)
		err := flowOf(1-s.dir).send(s.far, 0, 1<<40, 1000)
		if k := kind(err); k != "reset" && k != "pipe" {
			t.Errorf("the %v's write failed with %v", s.other, err)
		}
		l.expectEnd(t, End{who, Reset})
	})
}

func TestTheReplyOfABackendThatClosesDuringAnUploadArrivesWhole(t *testing.T) {
	const reply = 100_000
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		for _, taken := range []int64{0, 1000, 5 << 20} {
			t.Run(fmt.Sprint(taken), func(t *testing.T) {
				l := start(t, e, setup{})
				s := l.side(who)
				wrote := async(func() error { return flowOf(1-s.dir).send(s.far, 0, 1<<40, 50_000) })
				got := async(func() seen { return flowOf(s.dir).drain(s.far, 1000) })
				if err := flowOf(1-s.dir).expect(s.near, 0, taken); err != nil {
					t.Fatal(err)
				}
				if err := flowOf(s.dir).send(s.near, 0, reply, reply); err != nil {
					t.Fatal(err)
				}
				settle(t, s.near)
				s.near.CloseWrite()
				s.near.Close() // with unread bytes: a reset follows the end of stream
				expectSeen(t, s.other.String(), result(t, "the reader", got), seen{reply, "eof"})
				if err := result(t, "the upload to fail", wrote); err == nil || err == io.EOF {
					t.Errorf("the upload ended with %v", err)
				}
				l.expectEnd(t, End{who, Reset})
			})
		}
	})
}

func TestAResetOfAReaderEndsWhatIsSentToIt(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		// near has ended its direction, far has answered with more than near wants, and ended too.
		s.near.CloseWrite()
		expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 1000), seen{0, "eof"})
		clog(t, s.far, flowOf(1-s.dir))
		var off int64
		eventually(t, "the relay's system to have it all", func() bool {
			const piece = 64 << 10
			if err := flowOf(1-s.dir).expect(s.near, off, piece); err != nil {
				t.Fatal(err)
			}
			off += piece
			n, _ := unacknowledged(s.far)
			return n == 0
		})
		s.far.CloseWrite()
		settle(t, s.far)
		resetClose(s.near)
		l.expectEnd(t, End{who, Reset})
	})
}
