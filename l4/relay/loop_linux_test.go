package relay

import (
	"fmt"
	"io"
	"iter"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// handLoop is a loop that takes its turns when a test says so.
func handLoop(t *testing.T) *loop {
	t.Helper()
	e := &Loops{}
	l, err := newLoop(e, 0, LoopsConfig{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	e.loops = []*loop{l}
	t.Cleanup(func() {
		for slot := range l.sessionsHeld() {
			l.end(slot, killed)
		}
		l.post(command{do: stop})
		l.run()
		within(t, "Close to return", e.Close)
	})
	return l
}

// sessionsHeld yields the sessions in the table, by slot.
func (l *loop) sessionsHeld() iter.Seq2[int32, *Session] {
	return func(yield func(int32, *Session) bool) {
		for slot := range l.used {
			if s := l.owner(slot); s != nil && !yield(slot, s) {
				return
			}
		}
	}
}

// takeTurn takes one turn without waiting for anything.
func (l *loop) takeTurn() {
	l.full.Store(true)
	l.turn()
}

// session gives the loop a session and returns it with its far ends and its slot.
func (l *loop) session(t *testing.T) (lk *link, slot int32) {
	t.Helper()
	return l.greeted(t, 0, Limits{})
}

// greeted is session with a greeting of the backend that is there before the start.
func (l *loop) greeted(t *testing.T, greeting int64, limits Limits) (lk *link, slot int32) {
	t.Helper()
	lk = &link{ends: make(chan End, 2)}
	nearClient, client := pair(t, "tcp")
	backend, nearBackend := pair(t, "tcp")
	lk.client, lk.backend = client, backend
	if err := down.send(backend, 0, greeting, 1000); err != nil {
		t.Fatal(err)
	}
	settle(t, backend)
	lk.Session = &Session{Ends: &Ends{Client: nearClient, Backend: nearBackend}, Limits: &limits, Owner: lk}
	l.engine.Start(lk.Session)
	l.takeTurn()
	if slot = l.slotOf(lk.Session); slot == none {
		t.Fatal("the session was not adopted")
	}
	return lk, slot
}

// An event may have been on its way when its session ended and another took its place
// and its descriptors.
func TestAnEventForAnEndedSessionNeverReachesTheNextOne(t *testing.T) {
	l := handLoop(t)
	first, slot := l.session(t)
	fd, generation := l.record(slot).legs[ToClient].fd, l.record(slot).generation
	l.end(slot, killed)
	first.client.Close()
	first.backend.Close()
	for leg := range int32(2) {
		l.event(&unix.EpollEvent{Events: unix.EPOLLIN, Fd: slot<<1 | leg, Pad: generation}, 1) // nobody's
	}
	second, again := l.session(t)
	r := l.record(again)
	if again != slot || r.legs[ToClient].fd != fd && r.legs[ToBackend].fd != fd {
		t.Logf("slot %d and descriptor %d were not used again", slot, fd)
	}
	l.takeTurn() // the new one's own events
	before := *r
	for leg := range int32(2) {
		l.event(&unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR, Fd: slot<<1 | leg, Pad: generation,
		}, 1)
	}
	if *r != before {
		t.Errorf("the next session's record changed:\n%+v, was\n%+v", *r, before)
	}
	l.obeyKill(first.Session, killed)
	if l.slotOf(second.Session) != again || l.slotOf(first.Session) != none {
		t.Error("a kill of the ended session hit the next one")
	}
	if err := up.send(second.client, 0, 100, 100); err != nil {
		t.Fatal(err)
	}
	l.takeTurn()
	if err := up.expect(second.backend, 0, 100); err != nil {
		t.Error(err)
	}
}

// obeyKill is a Kill and the turn that obeys it.
func (l *loop) obeyKill(s *Session, e End) {
	l.engine.Kill(s, e)
	l.takeTurn()
}

func TestRecordsAreUsedAgain(t *testing.T) {
	l := handLoop(t)
	for range 100 {
		_, slot := l.session(t)
		l.end(slot, killed)
	}
	if l.used != 1 || l.record(0).generation != 100 {
		t.Errorf("%d records, the first in generation %d", l.used, l.record(0).generation)
	}
}

// Whatever bulk there is, a small message that has arrived is passed on within the
// next turn, in which one other session at most moves its share.
func TestASmallSessionIsServedBesideBulk(t *testing.T) {
	const streams, rounds = 8, 500
	l := handLoop(t)
	for range streams {
		bulk, slot := l.session(t)
		l.record(slot).lanes[ToBackend].bulk = true
		go up.send(bulk.client, 0, 1<<40, 1<<20)
		go up.expect(bulk.backend, 0, 1<<40)
	}
	small, _ := l.session(t)
	for range 1000 {
		l.takeTurn()
	}
	moved := func() (n int64) {
		for _, s := range l.sessionsHeld() {
			n += s.Moved(ToBackend)
		}
		return n
	}
	for off := range int64(rounds) {
		if err := up.send(small.client, off, 1, 1); err != nil {
			t.Fatal(err)
		}
		before := moved()
		l.takeTurn()
		if n := small.Moved(ToBackend); n != off+1 {
			t.Fatalf("%d of %d messages passed on", n, off+1)
		}
		// One session takes its turn, others may begin to be bulk.
		if n := moved() - before; n > turnBudget+loopBuffer+streams*loopBuffer {
			t.Fatalf("%d bytes moved in one turn", n)
		}
		if err := up.expect(small.backend, off, 1); err != nil {
			t.Fatal(err)
		}
	}
	for slot, s := range l.sessionsHeld() {
		if s != small.Session && s.Moved(ToBackend) < turnBudget {
			t.Errorf("the stream in slot %d moved %d bytes", slot, s.Moved(ToBackend))
		}
	}
}

// What was written in the turn that armed the limit must not look like progress of a
// slow reader when the limit is over.
func TestAnEarlyGreetingDoesNotDoubleTheLimit(t *testing.T) {
	const limit = 5 * time.Second // less than patrolMost
	l := handLoop(t)
	lk, slot := l.greeted(t, 3, Limits{Idle: limit})
	if n := lk.Moved(ToClient); n != 3 {
		t.Fatalf("%d bytes of the greeting passed on", n)
	}
	r := l.record(slot)
	began := r.active
	for looks := 0; l.slotOf(lk.Session) != none; looks++ {
		if looks == 5 {
			t.Fatal("looked at again and again")
		}
		l.now = time.Duration(r.look) * time.Millisecond
		l.look(slot)
	}
	if over := l.now - began - limit; over < 0 || over > time.Millisecond {
		t.Errorf("ended %v after the limit", over)
	}
}

func TestTurnsAreTakenInOrder(t *testing.T) {
	var q turns
	next, want := int32(0), int32(0)
	for range 100 {
		for range 3 {
			q.push(next)
			next++
		}
		for range 2 {
			if got := q.pop(); got != want {
				t.Fatalf("%d before %d", got, want)
			}
			want++
		}
	}
	for q.any() {
		if got := q.pop(); got != want {
			t.Fatalf("%d before %d", got, want)
		}
		want++
	}
	if want != next || cap(q.queue) > 512 {
		t.Errorf("%d of %d in order, in room for %d", want, next, cap(q.queue))
	}
}

func TestWhatIsKeptIsBoundedAndUsedAgain(t *testing.T) {
	var k keptBuffers
	var held []int32
	for range 2 * spareBuffers {
		for _, n := range []int{1, 4096, 4097, loopBuffer} {
			i := k.keep(up.at(0, n))
			if string(k.held[i].b) != string(up.at(0, n)) {
				t.Fatalf("other bytes kept of %d", n)
			}
			held = append(held, i)
		}
	}
	for _, i := range held {
		k.drop(i)
	}
	for class := range keptSizes {
		if len(k.spare[class]) != spareBuffers {
			t.Errorf("%d spare buffers of %d", len(k.spare[class]), keptSizes[class])
		}
	}
	if k.keep(up.at(0, 1)); len(k.held) != len(held) {
		t.Error("an index was not used again")
	}
}

// A backend may have spoken, and be gone again, before the loop hears that it was
// connected.
func TestABackendMayAnswerBeforeTheDialIsSeenToEnd(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, closes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/closes %v", network, closes), func(t *testing.T) { answerEarly(t, network, closes) })
		}
	}
}

func answerEarly(t *testing.T, network string, closes bool) {
	l := handLoop(t)
	address := "127.0.0.1:0"
	if network == "unix" {
		address = t.TempDir() + "/s"
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, client := pair(t, "tcp")
	o := &opener{e: l.engine, steps: []Step{{To: NewAddress(network, ln.Addr().String())}}}
	o.failed, o.ends = make(chan error, 1), make(chan End, 1)
	o.Session = &Session{Owner: o}
	l.engine.sessions.Add(1)
	l.sessions.Add(1)
	l.open(o.Session, takeOver(&near))
	backend, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	io.WriteString(backend, "hello")
	if closes {
		backend.Close()
	}
	for range 3 {
		l.takeTurn()
	}
	got := make([]byte, len("hello"))
	client.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(client, got); err != nil || len(o.failed) > 0 {
		t.Errorf("the client read %q, %v; %d dials failed", got, err, len(o.failed))
	}
	if closes {
		if _, err := client.Read(got); err != io.EOF {
			t.Errorf("then %v, want the end", err)
		}
	}
}
