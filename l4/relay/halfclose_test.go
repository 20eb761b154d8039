package relay

import "testing"

func TestAHalfCloseLeavesTheOtherDirectionOpen(t *testing.T) {
	const request, reply = 10, 1 << 20
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			forEachSide(t, func(t *testing.T, e Engine, who Who) {
				l := start(t, e, setup{client: network, backend: network})
				s := l.side(who)
				if err := flowOf(s.dir).send(s.near, 0, request, request); err != nil {
					t.Fatal(err)
				}
				s.near.CloseWrite()
				expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 1000), seen{request, "eof"})
				answered := async(func() error {
					defer s.far.Close()
					return flowOf(1-s.dir).send(s.far, 0, reply, 10_000)
				})
				expectSeen(t, who.String(), flowOf(1-s.dir).drain(s.near, 1000), seen{reply, "eof"})
				if err := result(t, "the answer", answered); err != nil {
					t.Error(err)
				}
				l.expectEnd(t, End{who, EOF})
			})
		})
	}
}

func TestWhatIsThereBeforeTheStartArrives(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		for _, size := range []int64{0, 1, 5000, 40_000} {
			l := start(t, e, setup{before: func(client, backend Conn) {
				c, f := client, up
				if who == Backend {
					c, f = backend, down
				}
				if err := f.send(c, 0, size, 1<<20); err != nil {
					t.Error(err)
				}
				c.CloseWrite()
			}})
			s := l.side(who)
			expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 1<<10), seen{size, "eof"})
			s.far.CloseWrite()
			expectSeen(t, who.String(), flowOf(1-s.dir).drain(s.near, 1<<10), seen{0, "eof"})
			l.expectEnd(t, End{who, EOF})
		}
	})
}

func TestBothSidesMayEndAtOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		for range 100 {
			l := start(t, e, setup{})
			for _, c := range []Conn{l.client, l.backend} {
				go c.CloseWrite()
			}
			expectSeen(t, "client", down.drain(l.client, 10), seen{0, "eof"})
			expectSeen(t, "backend", up.drain(l.backend, 10), seen{0, "eof"})
			if end := l.wait(t); end.Why != EOF || end.Who != Client && end.Who != Backend {
				t.Errorf("ended by %v", end)
			}
		}
	})
}

func TestAnIdlePeerHearsOfACloseAtOnce(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		s.near.Close()
		expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 10), seen{0, "eof"})
		s.far.Close()
		l.expectEnd(t, End{who, EOF})
	})
}

func TestABackendMayEndItsSideLongBeforeTheUploadDoes(t *testing.T) {
	const upload = 1 << 20
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		if err := down.send(l.backend, 0, 1000, 1000); err != nil {
			t.Fatal(err)
		}
		l.backend.CloseWrite()
		expectSeen(t, "client", down.drain(l.client, 1000), seen{1000, "eof"})
		got := async(func() seen { return up.drain(l.backend, 1000) })
		if err := up.send(l.client, 0, upload, 20_000); err != nil {
			t.Fatal(err)
		}
		l.client.Close()
		expectSeen(t, "backend", result(t, "the upload", got), seen{upload, "eof"})
		l.expectEnd(t, End{Backend, EOF})
		l.expectMoved(t, upload, 1000)
	})
}

func TestWhatIsQueuedAtAnOrderlyEndStillArrives(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{readBuffer: 32 << 10})
		l.client.CloseWrite()
		expectSeen(t, "backend", up.drain(l.backend, 10), seen{0, "eof"})
		n := clog(t, l.backend, down)
		l.backend.Close() // with its last bytes still on their way
		expectSeen(t, "client", down.drain(l.client, 5000), seen{n, "eof"})
		l.expectEnd(t, End{Client, EOF})
		l.expectMoved(t, 0, n)
	})
}

// The other direction is over too, but for a reader that takes its time; or it is stuck
// in the middle.
func TestAnEndIsPassedOnWhileTheOtherDirectionIsStuck(t *testing.T) {
	const rounds = 20
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		for name, fill := range map[string]func(t *testing.T, l *link, s side, off int64) int64{
			"in a write": func(t *testing.T, l *link, s side, off int64) int64 {
				return clog(t, s.far, flowOf(1-s.dir).from(off))
			},
			"before the reader": func(t *testing.T, l *link, s side, off int64) int64 {
				const size = 256 << 10 // more than near's kernel takes, less than the relay's
				if err := flowOf(1-s.dir).send(s.far, off, size, size); err != nil {
					t.Fatal(err)
				}
				s.far.CloseWrite()
				eventually(t, "the relay to be done with it", func() bool {
					return l.Moved(1-s.dir) == off+size && (l.run == nil || l.run.left.Load() == 1)
				})
				return size
			},
		} {
			t.Run(name, func(t *testing.T) {
				l := start(t, e, setup{readBuffer: 16 << 10})
				s := l.side(who)
				for i := range int64(rounds) {
					pingPong(t, s, i)
				}
				n := fill(t, l, s, rounds)
				s.near.CloseWrite()
				got := seen{rounds, kind(flowOf(s.dir).expect(s.far, rounds, 1))}
				expectSeen(t, s.other.String(), got, seen{rounds, "eof"}) // near has read nothing yet
				s.far.CloseWrite()
				expectSeen(t, who.String(), flowOf(1-s.dir).from(rounds).drain(s.near, 50_000), seen{n, "eof"})
				if e := l.wait(t); e.Why != EOF {
					t.Errorf("ended by %v, want eof", e)
				}
			})
		}
	})
}

// pingPong exchanges the byte at off of both flows.
func pingPong(t *testing.T, s side, off int64) {
	t.Helper()
	for _, way := range []struct {
		from, to Conn
		f        flow
	}{{s.near, s.far, flowOf(s.dir)}, {s.far, s.near, flowOf(1 - s.dir)}} {
		if err := way.f.send(way.from, off, 1, 1); err != nil {
			t.Fatal(err)
		}
		if err := way.f.expect(way.to, off, 1); err != nil {
			t.Fatal(err)
		}
	}
}
