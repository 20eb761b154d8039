package relay

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// exchange sends both ways at once, each end then ending its direction, and checks
// that both got everything.
func exchange(t *testing.T, l *link, toBackend, toClient int64, chunk int) {
	t.Helper()
	speak := func(c Conn, f flow, n int64) <-chan error {
		return async(func() error {
			if err := f.send(c, 0, n, chunk); err != nil {
				return err
			}
			return c.CloseWrite()
		})
	}
	clientWrote, backendWrote := speak(l.client, up, toBackend), speak(l.backend, down, toClient)
	backendSaw := async(func() seen { return up.drain(l.backend, 64<<10) })
	clientSaw := async(func() seen { return down.drain(l.client, 64<<10) })
	for _, wrote := range []<-chan error{clientWrote, backendWrote} {
		if err := result(t, "a sender", wrote); err != nil {
			t.Error(err)
		}
	}
	expectSeen(t, "backend", result(t, "the backend", backendSaw), seen{toBackend, "eof"})
	expectSeen(t, "client", result(t, "the client", clientSaw), seen{toClient, "eof"})
	if e := l.wait(t); e.Why != EOF {
		t.Errorf("ended by %v, want eof", e)
	}
	l.expectMoved(t, toBackend, toClient)
}

func TestBytesArriveWholeBothWaysAtOnce(t *testing.T) {
	sizes := []int64{0, 1, 4095, 4096, 4097, 64 << 10, 1 << 20, 64 << 20}
	forEachEngine(t, func(t *testing.T, e Engine) {
		for i, size := range sizes {
			if testing.Short() && size > 1<<20 {
				continue
			}
			other := sizes[len(sizes)-1-i]
			if testing.Short() || i%2 == 0 {
				other = size
			}
			t.Run(fmt.Sprint(size, " and ", other), func(t *testing.T) {
				exchange(t, start(t, e, setup{}), size, other, 256<<10)
			})
		}
	})
}

func TestAGigabyteArrivesWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	forEachEngine(t, func(t *testing.T, e Engine) {
		exchange(t, start(t, e, setup{}), 1<<30, 0, 1<<20)
	})
}

func TestOddPiecesArriveWhole(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		for _, chunk := range []int{1, 7, 1447, 4095, 4097, 65537} {
			t.Run(fmt.Sprint(chunk), func(t *testing.T) {
				exchange(t, start(t, e, setup{}), int64(chunk)*1009, int64(chunk)*503+1, chunk)
			})
		}
	})
}

func TestBytesAndEndsCrossUnixSockets(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		for _, s := range []setup{
			{client: "unix", backend: "tcp"}, {client: "tcp", backend: "unix"}, {client: "unix", backend: "unix"},
		} {
			t.Run(s.client+" to "+s.backend, func(t *testing.T) {
				exchange(t, start(t, e, s), 3<<20, 2<<20, 10_007)
			})
		}
	})
}

func TestASlowReaderGetsEverything(t *testing.T) {
	const size = 2 << 20
	forEachSide(t, func(t *testing.T, e Engine, who Who) {
		l := start(t, e, setup{readBuffer: 32 << 10})
		s := l.side(who)
		wrote := async(func() error {
			defer s.near.CloseWrite()
			return flowOf(s.dir).send(s.near, 0, size, 64<<10)
		})
		expectSeen(t, "slow reader", flowOf(s.dir).drain(s.far, 777), seen{size, "eof"})
		if err := result(t, "the sender", wrote); err != nil {
			t.Error(err)
		}
	})
}

func TestMessagesGoBackAndForth(t *testing.T) {
	const rounds = 500
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		echoed := async(func() error { _, err := io.Copy(l.backend, struct{ io.Reader }{l.backend}); return err })
		sizes, off := rand.New(rand.NewPCG(1, 2)), int64(0)
		for range rounds {
			n := 1 + sizes.Int64N(6000) // below and above what moves a direction to bulk
			if err := up.send(l.client, off, n, 6000); err != nil {
				t.Fatal(err)
			}
			if err := up.expect(l.client, off, n); err != nil {
				t.Fatal(err)
			}
			off += n
		}
		eventually(t, "the counters to tell the truth", func() bool {
			return l.Moved(ToBackend) == off && l.Moved(ToClient) == off
		})
		l.client.CloseWrite()
		if err := result(t, "the echo", echoed); err != nil {
			t.Error(err)
		}
		l.backend.Close()
		l.expectEnd(t, End{Client, EOF})
	})
}

func TestTheBackendMaySpeakFirst(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		l := start(t, e, setup{})
		if err := down.send(l.backend, 0, 78, 78); err != nil {
			t.Fatal(err)
		}
		if err := down.expect(l.client, 0, 78); err != nil {
			t.Errorf("the greeting did not reach a silent client: %v", err)
		}
	})
}

func TestPendingBytesComeFirstAndOnce(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e Engine) {
		for _, size := range []int{1, 4096, 700_000} {
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				const rest = 10_000
				l := start(t, e, setup{pending: up.at(0, size)})
				if err := up.send(l.client, int64(size), rest, 1000); err != nil {
					t.Fatal(err)
				}
				l.client.CloseWrite()
				expectSeen(t, "backend", up.drain(l.backend, 1<<10), seen{int64(size) + rest, "eof"})
				l.backend.CloseWrite()
				l.expectEnd(t, End{Client, EOF})
				l.expectMoved(t, int64(size)+rest, 0)
			})
		}
	})
}
