package l4

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// choosy ends a session whose client says "poison" without a byte, and is an echo to others.
func choosy(c relay.Conn) {
	first := make([]byte, 6)
	n, err := io.ReadFull(c, first)
	if string(first[:n]) == "poison" {
		return
	}
	c.Write(first[:n])
	if err == nil {
		echo(c)
	}
}

// in has w join the line of a room for ten.
func (r *waitingRoom) in(w *waiter, had seen) *waiter {
	r.most = 10
	r.enter(w, had)
	return w
}

// called tells whether it is w's turn.
func (w *waiter) called() bool {
	select {
	case <-w.turn:
		return true
	default:
		return false
	}
}

// One whose words the only backend does not answer may not have it again: it must not keep
// the slot that gets free from those behind it, nor from those who come then.
func TestAClientThatIsNeverAnsweredDoesNotWedgeTheLine(t *testing.T) {
	b := backend(t, choosy).config("b1")
	b.MaxConnections = 1
	cfg := replaying(100)
	cfg.Connect.Hold = patience
	r := serve(t, cfg, b)
	bad := r.connect()
	send(t, bad, "poison")
	r.awaitHeld(1)
	first := r.connect()
	expectEcho(t, first, "abcdef")
	var line []relay.Conn
	for i := range 5 {
		c := r.connect()
		send(t, c, "ghijkl")
		line = append(line, c)
		r.awaitHeld(int32(2 + i))
	}
	first.Close()
	for _, c := range line {
		expectRead(t, c, "ghijkl")
		c.Close()
	}
	for range 20 {
		c := r.connect()
		expectEcho(t, c, "mnopqr")
		c.Close()
	}
	if held := r.Stats().Held; held > 1 {
		t.Errorf("%d wait still, want the one that is never answered at most", held)
	}
}

// Nobody is in front of it, and a backend is to be had: it must not wait, and all who come
// later behind it.
func TestWhoJoinsALineThatHasJustEmptiedHasItsTurn(t *testing.T) {
	var r waitingRoom
	a := r.in(&waiter{full: true}, r.look())
	b := r.in(&waiter{full: true}, r.look())
	r.signal()
	<-a.turn
	found := r.look() // a newcomer looks, and is told that somebody waits for a slot
	if r.full.Load() == 0 {
		t.Fatal("nobody waits for a slot")
	}
	r.next(1) // a has chosen
	<-b.turn
	r.next(1) // and so has b
	r.proven()
	r.proven()
	if late := r.in(&waiter{full: true}, found); !late.called() {
		t.Error("it waits for nobody's sake")
	}
}

// The same with clients: none of them may wait any more once a backend with room is up.
func TestNobodyIsForgottenWhoComesAsTheLineEmpties(t *testing.T) {
	full := backend(t, echo).config("full")
	full.MaxConnections = 1
	r := serve(t, Config{Connect: holdFor(patience), SessionLog: LogOff}, full, backend(t, echo).config("free"))
	r.Pool().SetHealth(r.backends[1], Down, byProbe)
	expectEcho(t, r.connect(), "x")
	for round := range 150 {
		var clients sync.WaitGroup
		one := func() {
			c := r.connect()
			expectEcho(t, c, "x")
			c.Close()
		}
		before := 1 + round%4
		for range before {
			clients.Go(one)
		}
		r.awaitHeld(int32(before))
		up := make(chan struct{})
		for range 3 {
			clients.Go(func() {
				<-up
				<-time.After(time.Duration(rand.IntN(400)) * time.Microsecond)
				one()
			})
		}
		close(up)
		r.Pool().SetHealth(r.backends[1], Up, byProbe)
		within(t, fmt.Sprint("the clients of round ", round), clients.Wait)
		r.Pool().SetHealth(r.backends[1], Down, byProbe)
	}
}

// Who leaves in its turn must not take the slot along.
func TestASlotThatWhoLeavesWasOfferedGoesToTheNext(t *testing.T) {
	var r waitingRoom
	a := r.in(&waiter{full: true}, r.look())
	b := r.in(&waiter{full: true}, r.look())
	r.signal()
	<-a.turn
	r.next(1)
	<-b.turn
	r.in(a, r.look()) // both in vain
	r.in(b, r.look())
	r.slot()
	<-a.turn
	if r.leave(a) {
		t.Fatal("it was not its turn")
	}
	r.pass()
	if !b.called() {
		t.Error("a slot is free, and the next one waits for it")
	}
}

// The first to wait has nothing to dial: it must not keep those behind it, who have, from
// trying on behalf of all.
func TestWhoHasNothingToDialDoesNotKeepOthersFromTrying(t *testing.T) {
	var r waitingRoom
	a := r.in(&waiter{limited: true}, r.look())
	b := r.in(&waiter{}, r.look())
	c := r.in(&waiter{}, r.look())
	if r.lead(c) {
		t.Error("the second tries, though the first may")
	}
	if !r.lead(b) {
		t.Error("nobody tries")
	}
	if !r.lead(a) {
		t.Error("the first in the line may not try when it has whom to dial")
	}
}

// A client that waited for the end of a pause must have all of hold after it, like one that
// comes then.
func TestAPauseIsNotTakenOffHold(t *testing.T) {
	const hold = time.Second
	r := serve(t, Config{Connect: holdFor(hold)}, echoes(t, 1)...)
	if err := r.Pause(patience); err != nil {
		t.Fatal(err)
	}
	old := r.connect()
	r.awaitHeld(1)
	<-time.After(hold + hold/10)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	r.Resume()
	young := r.connect()
	r.awaitHeld(2)
	<-time.After(hold / 10) // it has had its turn, in vain
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	expectEcho(t, young, "x")
	expectEcho(t, old, "x")
}

// When a pause ends there may be fewer slots than clients: none of them may be left behind.
func TestAResumedLineGoesThroughAFewSlots(t *testing.T) {
	b := backend(t, echo).config("b1")
	b.MaxConnections = 2
	r := serve(t, Config{Connect: holdFor(patience)}, b)
	if err := r.Pause(patience); err != nil {
		t.Fatal(err)
	}
	served, wait := r.each(50)
	r.awaitHeld(50)
	r.Resume()
	wait()
	if served.Load() != 50 {
		t.Errorf("%d were served", served.Load())
	}
}

// The writer has had the words of the first in the line, which may not go there again: the
// others must not stay behind it.
func TestTheLineBehindAClientThatMayNotUseTheBackendGoesOn(t *testing.T) {
	cfg := replaying(100)
	cfg.OnDown, cfg.Conflict, cfg.Connect.Hold = OnDownClose, ConflictNone, patience
	heard := make(chan struct{})
	a := backend(t, func(c relay.Conn) {
		word := make([]byte, 1)
		if n, _ := c.Read(word); n == 1 && word[0] == 'm' {
			close(heard)
			mute(c)
			return
		}
		c.Write(word)
		echo(c)
	})
	r := serve(t, cfg, a.config("a"), backend(t, echo).config("b"))
	p := r.Pool()
	p.SetHealth(r.backends[1], Down, byProbe)
	p.SetHealth(r.backends[0], Up, byProbe)
	w := r.connect()
	send(t, w, "mute")
	<-heard
	p.SetHealth(r.backends[1], Up, byProbe) // both claim the place: none has it
	r.awaitHeld(1)
	served, wait := r.each(5)
	r.awaitHeld(6)
	p.SetHealth(r.backends[1], Down, byProbe) // a alone claims it
	wait()
	if served.Load() != 5 {
		t.Errorf("%d of 5 were served", served.Load())
	}
}
