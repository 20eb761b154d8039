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
