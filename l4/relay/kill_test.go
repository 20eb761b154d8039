package relay

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

func TestKillResetsASilentSession(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		e.Kill(l.Session, killed)
		expectSeen(t, "client", down.drain(l.client, 10), seen{0, "reset"})
		expectSeen(t, "backend", up.drain(l.backend, 10), seen{0, "reset"})
		l.expectEnd(t, killed)
	})
}

func TestKillEndsASessionOverUnixSockets(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{client: "unix", backend: "unix"})
		e.Kill(l.Session, killed)
		expectSeen(t, "client", down.drain(l.client, 10), seen{0, "eof"})
		expectSeen(t, "backend", up.drain(l.backend, 10), seen{0, "eof"})
		l.expectEnd(t, killed)
	})
}

func TestKillEndsASessionBlockedOnAStuckReader(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			forEachSide(t, func(t *testing.T, e Engine, who Who) {
				l := start(t, e, setup{client: network, backend: network})
				s := l.side(who)
				clog(t, s.near, flowOf(s.dir))
				within(t, "Kill", func() { e.Kill(l.Session, killed) })
				l.expectEnd(t, killed)
			})
		})
	}
}

func TestKillEndsASessionThatIsHalfClosed(t *testing.T) {
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{})
		s := l.side(who)
		s.near.CloseWrite()
		expectSeen(t, s.other.String(), flowOf(s.dir).drain(s.far, 10), seen{0, "eof"})
		e.Kill(l.Session, killed)
		expectSeen(t, who.String(), flowOf(1-s.dir).drain(s.near, 10), seen{0, "reset"})
		l.expectEnd(t, killed)
	})
}

// A reset waits until what came before it has arrived; Kill does not.
func TestKillCutsShortTheWaitBeforeAReset(t *testing.T) {
	const size = 256 << 10 // more than the reader's kernel takes, less than the relay's
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{readBuffer: 4 << 10})
		s := l.side(who)
		if err := flowOf(s.dir).send(s.near, 0, size, size); err != nil {
			t.Fatal(err)
		}
		settle(t, s.near)
		resetClose(s.near)
		eventually(t, "the relay to hear of the reset", func() bool { return l.run == nil || l.run.end.Load() != 0 })
		e.Kill(l.Session, killed)
		if end := l.wait(t); end != (End{who, Reset}) && (l.run != nil || end != killed) {
			t.Errorf("ended by %v", end)
		}
	})
}

func TestKillCutsShortTheWaitAtAnOrderlyEnd(t *testing.T) {
	const size = 256 << 10
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{readBuffer: 4 << 10})
		l.client.CloseWrite()
		if err := down.send(l.backend, 0, size, size); err != nil {
			t.Fatal(err)
		}
		settle(t, l.backend)
		l.backend.Close()
		eventually(t, "all to be written", func() bool { return l.Moved(ToClient) == size })
		e.Kill(l.Session, killed)
		l.expectEnd(t, killed) // it cost the client bytes, so it is no orderly end
	})
}

func TestTheFirstKillSettlesTheEnd(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		e.Kill(l.Session, drained)
		e.Kill(l.Session, killed)
		l.expectEnd(t, drained)
		e.Kill(l.Session, killed) // and one after the end changes nothing
	})
}

func TestKillRacingWithAnOrderlyEndIsOneOfTheTwo(t *testing.T) {
	const size = 100
	forEachEngine(t, func(t *testing.T, e Engine) {
		for range 200 {
			l := start(t, e, setup{})
			if err := down.send(l.backend, 0, size, size); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { l.client.CloseWrite() })
			wg.Go(func() { l.backend.CloseWrite() })
			for range 2 {
				wg.Go(func() { e.Kill(l.Session, killed) })
			}
			wg.Wait()
			client, backend := down.drain(l.client, 1000), up.drain(l.backend, 1000)
			switch end := l.wait(t); {
			case end == killed:
			case end.Why != EOF:
				t.Errorf("ended by %v", end)
			case client != seen{size, "eof"} || backend != seen{0, "eof"}:
				t.Errorf("an orderly end, yet the client saw %v and the backend %v", client, backend)
			}
			l.client.Close()
			l.backend.Close()
		}
	})
}

// counted is a connection that counts how often it is closed.
type counted struct {
	*net.TCPConn
	closes atomic.Int32
}

func (c *counted) Close() error {
	c.closes.Add(1)
	return c.TCPConn.Close()
}

type owner chan End

func (o owner) RelayEnded(e End) { o <- e }

func TestBothConnectionsAreClosedExactlyOnce(t *testing.T) {
	ways := map[string]func(e Engine, s *Session, client, backend Conn){
		"orderly":         func(_ Engine, _ *Session, client, backend Conn) { client.Close(); backend.Close() },
		"reset by client": func(_ Engine, _ *Session, client, _ Conn) { resetClose(client) },
		"reset by both":   func(_ Engine, _ *Session, client, backend Conn) { resetClose(backend); resetClose(client) },
		"killed":          func(e Engine, s *Session, _, _ Conn) { e.Kill(s, killed) },
		"killed twice":    func(e Engine, s *Session, _, _ Conn) { e.Kill(s, killed); e.Kill(s, killed) },
		"killed late":     func(e Engine, s *Session, c, b Conn) { c.Close(); b.Close(); e.Kill(s, killed) },
	}
	forEachEngine(t, func(t *testing.T, e Engine) {
		for name, end := range ways {
			t.Run(name, func(t *testing.T) {
				nearClient, client := pair(t, "tcp")
				backend, nearBackend := pair(t, "tcp")
				a, b := &counted{TCPConn: nearClient.(*net.TCPConn)}, &counted{TCPConn: nearBackend.(*net.TCPConn)}
				ended := make(owner, 2)
				s := &Session{Ends: &Ends{Client: a, Backend: b}, Owner: ended}
				e.Start(s)
				end(e, s, client, backend)
				result(t, "the end", ended)
				within(t, "Wait to return", e.Wait)
				if n, m := a.closes.Load(), b.closes.Load(); n != 1 || m != 1 || len(ended) > 0 {
					t.Errorf("closed the client %d times and the backend %d times; ends reported besides the first: %d", n, m, len(ended))
				}
			})
		}
	})
}
