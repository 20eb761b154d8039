package relay

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func newLoops(t testing.TB, c LoopsConfig) *Loops {
	t.Helper()
	e, err := NewLoops(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { within(t, "Close to return", e.Close) })
	return e
}

func TestThereIsALoopForEveryProcessorButOne(t *testing.T) {
	for procs, loops := range map[int]int{1: 1, 2: 1, 5: 4} {
		was := runtime.GOMAXPROCS(procs)
		e := newLoops(t, LoopsConfig{})
		runtime.GOMAXPROCS(was)
		if len(e.loops) != loops || e.loops[0].hides != (procs > loops) {
			t.Errorf("%d loops on %d processors, which hide: %v", len(e.loops), procs, e.loops[0].hides)
		}
	}
}

func TestSessionsAreSpreadEvenly(t *testing.T) {
	const loops, sessions = 3, 30
	e := newLoops(t, LoopsConfig{Loops: loops})
	var links []*link
	for range sessions {
		links = append(links, start(t, e, setup{}))
	}
	expect := func(want int32) {
		t.Helper()
		for _, l := range e.loops {
			eventually(t, "the sessions to be even", func() bool { return l.sessions.Load() == want })
		}
	}
	expect(sessions / loops)
	// One loop loses all of its own: the next sessions are for it.
	for _, l := range links {
		if l.loop == 1 {
			l.client.Close()
			l.backend.Close()
			l.wait(t)
		}
	}
	eventually(t, "the sessions to end", func() bool { return e.loops[1].sessions.Load() == 0 })
	for range sessions / loops {
		if l := start(t, e, setup{}); l.loop != 1 {
			t.Errorf("a session went to loop %d", l.loop)
		}
	}
	expect(sessions / loops)
}

func TestAnEngineMayBeClosedTwice(t *testing.T) {
	e := newLoops(t, LoopsConfig{Loops: 2})
	l := start(t, e, setup{})
	closed := async(func() bool { e.Close(); return true })
	e.Kill(l.Session, killed)
	l.expectEnd(t, killed)
	result(t, "Close to return", closed)
	e.Close()
	e.Kill(l.Session, killed) // the loop is gone, and so is the session
}

func TestALoopKeepsFewPipesAndNoneIsInUseWhenQuiet(t *testing.T) {
	rest := pipesAtRest(t)
	e := newLoops(t, LoopsConfig{Loops: 1})
	l := start(t, e, setup{})
	for round := range int64(3) {
		const size = 16 << 20
		wrote := async(func() error { return up.send(l.client, round*size, size, 1<<20) })
		if err := up.expect(l.backend, round*size, size); err != nil {
			t.Fatal(err)
		}
		if err := result(t, "the sender", wrote); err != nil {
			t.Fatal(err)
		}
		// One pipe, used over and over.
		if n, open := e.pipes.Load(), descriptors(t)["pipe"]-rest; n != 1 || open != 2 {
			t.Errorf("%d pipes and %d descriptors of such", n, open)
		}
	}
	l.client.Close()
	l.backend.Close()
	l.wait(t)
	e.Close()
	if n, open := e.pipes.Load(), descriptors(t)["pipe"]-rest; n != 0 || open != 0 {
		t.Errorf("after Close %d pipes and %d descriptors of such", n, open)
	}
}

func TestLoopsHoldNoMorePipesThanTheyMay(t *testing.T) {
	const sessions, size = 6, 8 << 20
	rest := pipesAtRest(t)
	e := newLoops(t, LoopsConfig{Loops: 2, MaxPipes: 2})
	var got []<-chan error
	for range sessions {
		l := start(t, e, setup{})
		go up.send(l.client, 0, size, 1<<20)
		go down.send(l.backend, 0, size, 1<<20)
		got = append(got, async(func() error { return up.expect(l.backend, 0, size) }),
			async(func() error { return down.expect(l.client, 0, size) }))
	}
	for _, c := range got {
		if n := descriptors(t)["pipe"] - rest; n > 4 {
			t.Errorf("%d descriptors of pipes", n)
		}
		if err := result(t, "a transfer", c); err != nil {
			t.Error(err)
		}
	}
}

// What a pipe held at a kill must reach nobody else.
func TestAPipeThatWasFullAtAKillIsNotUsedAgain(t *testing.T) {
	rest, full := pipesAtRest(t), 0
	for range 5 {
		e := newLoops(t, LoopsConfig{Loops: 1})
		l := start(t, e, setup{readBuffer: 16 << 10})
		clog(t, l.client, up)
		open := descriptors(t)["pipe"] - rest
		e.Kill(l.Session, killed)
		l.expectEnd(t, killed)
		if open == 2 && e.pipes.Load() == 0 {
			full++
		}
		exchange(t, start(t, e, setup{}), 0, 4<<20, 1<<20)
		e.Close()
	}
	if full == 0 {
		t.Error("no pipe was full at a kill")
	}
}

func TestAFloodOfConnectionsThatResetLeavesNothing(t *testing.T) {
	const waves, wave = 20, 50
	e := newLoops(t, LoopsConfig{Loops: 2})
	before := descriptors(t)["socket"]
	for range waves {
		var wg sync.WaitGroup
		for i := range wave {
			nearClient, client := pair(t, "tcp")
			backend, nearBackend := pair(t, "tcp")
			ended := make(owner, 1)
			act := func() {
				if i%2 == 0 {
					resetClose(client)
				}
				if i%3 == 0 {
					resetClose(backend)
				}
				client.Close()
				backend.Close()
			}
			if i%5 == 0 {
				act()
			}
			e.Start(&Session{Ends: &Ends{Client: nearClient, Backend: nearBackend}, Owner: ended})
			wg.Go(func() {
				act()
				result(t, "the end", ended)
			})
		}
		wg.Wait()
	}
	for _, l := range e.loops {
		if n := l.sessions.Load(); n != 0 {
			t.Errorf("%d sessions left", n)
		}
	}
	e.Close()
	slots := int(e.loops[0].used + e.loops[1].used)
	if now := descriptors(t)["socket"]; now != before || slots > 2*wave {
		t.Errorf("%d sockets left, records for %d sessions at one time", now-before, slots)
	}
}

// Readers that keep their windows closed cost the loop a bounded buffer each, and no
// other session its turn.
func TestClosedWindowsWedgeNoLoop(t *testing.T) {
	const stuck = 8
	e := newLoops(t, LoopsConfig{Loops: 1, MaxPipes: 2})
	for range stuck {
		l := start(t, e, setup{readBuffer: 4 << 10})
		go up.send(l.client, 0, 1<<40, 1<<20)
		go down.send(l.backend, 0, 1<<40, 1<<20)
	}
	l := start(t, e, setup{})
	for off := range int64(2000) {
		if err := up.send(l.client, off, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := up.expect(l.backend, off, 1); err != nil {
			t.Fatal(err)
		}
	}
	exchange(t, start(t, e, setup{}), 4<<20, 4<<20, 1<<20)
}

const roleBorrow = "borrow"

// At the limit a session that has its descriptors already must not fail for want of
// more.
func TestASessionStartsWithoutADescriptorToSpare(t *testing.T) {
	if os.Getenv(roleVariable) != roleBorrow {
		child := exec.Command(os.Args[0], "-test.run=^TestASessionStartsWithoutADescriptorToSpare$", "-test.v")
		child.Env = append(os.Environ(), roleVariable+"="+roleBorrow)
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	e := newLoops(t, LoopsConfig{Loops: 1})
	var restore func()
	l := start(t, e, setup{before: func(_, _ Conn) { restore = lowerLimit(t) }})
	defer restore()
	if l.Session.Client == nil || l.Session.Backend == nil {
		t.Error("a descriptor was to be had")
	}
	for _, s := range []side{l.side(Client), l.side(Backend)} {
		if err := flowOf(s.dir).send(s.near, 0, 1<<20, 1<<10); err != nil {
			t.Fatal(err)
		}
		if err := flowOf(s.dir).expect(s.far, 0, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	e.Kill(l.Session, killed)
	expectSeen(t, "client", down.drain(l.client, 10), seen{0, "reset"})
	l.expectEnd(t, killed)
}

func TestEnginesWithoutDescriptorsAreNotMade(t *testing.T) {
	if os.Getenv(roleVariable) != roleBorrow {
		child := exec.Command(os.Args[0], "-test.run=^TestEnginesWithoutDescriptorsAreNotMade$", "-test.v")
		child.Env = append(os.Environ(), roleVariable+"="+roleBorrow)
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	defer lowerLimit(t)()
	if e, err := NewLoops(LoopsConfig{}); err == nil {
		e.Close()
		t.Error("made all the same")
	}
}

// TCP urgent data stop a read before the end of what is there, and no event tells of
// the rest.
func TestWhatFollowsUrgentDataArrives(t *testing.T) {
	for _, c := range []struct {
		before, after int64
		ends          bool // and its end is there too
	}{{1000, 200_000, false}, {1000, 200_000, true}, {90_000, 10_000, true}, {150_000, 50_000, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			forEachSide(t, func(t *testing.T, e Engine, who Who) { passUrgent(t, e, who, c.before, c.after, c.ends) })
		})
	}
}

func passUrgent(t *testing.T, e Engine, who Who, before, after int64, ends bool) {
	l := start(t, e, setup{before: func(client, backend Conn) {
		c, f := client, up
		if who == Backend {
			c, f = backend, down
		}
		if err := f.send(c, 0, before, int(before)); err != nil {
			t.Error(err)
		}
		control(c, func(d descriptor) { unix.Sendto(d.fd, []byte("!"), unix.MSG_OOB, nil) })
		if err := f.send(c, before, after, 10_000); err != nil {
			t.Error(err)
		}
		if ends {
			c.CloseWrite()
		}
	}})
	s := l.side(who)
	if err := flowOf(s.dir).expect(s.far, 0, before+after); err != nil {
		t.Error(err)
	}
	if ends {
		expectSeen(t, "reader", flowOf(s.dir).drain(s.far, 10), seen{0, "eof"})
	}
}

// Descriptors that are sent over a Unix socket stop a read likewise. They are not
// passed on.
func TestWhatFollowsAncillaryDataArrives(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{client: "unix", before: func(client, _ Conn) {
			rights := unix.UnixRights(0)
			control(client, func(d descriptor) {
				for off := range int64(10) {
					if err := unix.Sendmsg(d.fd, up.at(off*100, 100), rights, nil, 0); err != nil {
						t.Error(err)
					}
				}
			})
		}})
		if err := up.expect(l.backend, 0, 1000); err != nil {
			t.Error(err)
		}
	})
}

// Each end waits for the other to read, until one resets: what the other then still
// says must be thrown away, or it never reads what was sent to it before.
func TestAResetFreesAnEndThatIsStuckInItsAnswer(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		// Much smaller, and the kernel may drop a segment at a closed window and then heed
		// no acknowledgement until its next probe, half a minute later.
		l := start(t, e, setup{readBuffer: 512 << 10})
		s := l.side(who)
		wrote := async(func() error { return flowOf(1-s.dir).send(s.far, 0, 64<<20, 1<<20) })
		sent := clog(t, s.near, flowOf(s.dir))
		lost, _ := unacknowledged(s.near)
		resetClose(s.near)
		if err := result(t, "the answer to be out", wrote); err != nil {
			t.Error(err)
		}
		got := flowOf(s.dir).drain(s.far, 32<<10)
		if got.n < sent-int64(lost) {
			t.Errorf("the %v saw %d of %d bytes and %q", s.other, got.n, sent-int64(lost), got.end)
		}
		l.expectEnd(t, End{who, Reset})
	})
}
