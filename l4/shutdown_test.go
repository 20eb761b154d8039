package l4

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// C66, C64
func TestShutdownClosesTheListenersAtOnceAndLetsSessionsEnd(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	c := r.connect()
	expectEcho(t, c, "before")
	forced := async(func() int { return r.Shutdown(context.Background()) })
	eventually(t, "the listener to be closed", func() bool {
		c, err := net.Dial("tcp", r.address)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	expectEcho(t, c, "while draining")
	select {
	case <-forced:
		t.Fatal("Shutdown returned with a session left")
	default:
	}
	c.CloseWrite()
	expectDrain(t, c, "", "eof")
	if n := result(t, "Shutdown to return", forced); n != 0 {
		t.Errorf("%d forced", n)
	}
	if r.ended(relay.Drain) != 0 {
		t.Errorf("ended: %v", r.Stats().Ended)
	}
}

// C64: what ends by itself before the deadline is not counted.
func TestAtTheDeadlineTheSessionsLeftAreResetAndCounted(t *testing.T) {
	for _, c := range []struct{ sessions, byThemselves int }{{5, 0}, {5, 2}, {3, 3}, {0, 0}} {
		ends := make(chan string, c.sessions)
		f := backend(t, func(c relay.Conn) { _, end := drain(c); ends <- end })
		r := serve(t, Config{}, f.config("b"))
		var clients []relay.Conn
		for range c.sessions {
			clients = append(clients, r.connect())
		}
		r.awaitRelayed(c.sessions)
		ctx, deadline := context.WithCancel(context.Background())
		defer deadline()
		forced := async(func() int { return r.Shutdown(ctx) })
		left := c.sessions - c.byThemselves
		for _, client := range clients[left:] {
			client.CloseWrite()
		}
		for range c.byThemselves {
			if end := result(t, "a backend's end", ends); end != "eof" {
				t.Errorf("a backend saw %s before the deadline", end)
			}
		}
		r.awaitActive(int64(left))
		deadline()
		if n := result(t, "Shutdown to return", forced); n != left {
			t.Errorf("%d forced, want %d", n, left)
		}
		for _, client := range clients[:left] {
			expectReset(t, client)
			if end := result(t, "a backend's end", ends); end != "reset" {
				t.Errorf("a backend saw %s at the deadline", end)
			}
		}
		if r.ended(relay.Drain) != int64(left) || r.ended(relay.EOF) != int64(c.byThemselves) {
			t.Errorf("ended: %v", r.Stats().Ended)
		}
		for _, l := range r.log.of("session") {
			if l["end.why"] == "drain" && l["end.who"] != "operator" {
				t.Errorf("logged %v", l)
			}
		}
	}
}

// C97: a client that does not read holds up nothing.
func TestCloseDoesNotWaitForAClientThatDoesNotRead(t *testing.T) {
	f := backend(t, func(c relay.Conn) {
		for b := make([]byte, 64<<10); ; {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	})
	r := serve(t, Config{}, f.config("b"))
	r.connect()
	eventually(t, "the flood to begin", func() bool { return r.Backends()[0].Moved[relay.ToClient] > 1<<20 })
	within(t, "Close to return", r.Close)
	r.awaitEnded(relay.Drain, 1)
}

func TestAServiceThatIsShutDownServesNoMore(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	for range 2 {
		if n := r.Shutdown(context.Background()); n != 0 {
			t.Errorf("%d forced", n)
		}
		ln, err := Listen(context.Background(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Serve(ln); err != ErrServiceClosed {
			t.Errorf("Serve returned %v", err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the listener was not closed: %v", err)
		}
		r.Close()
	}
}

func TestAClientAcceptedWhileTheServiceClosesIsReset(t *testing.T) {
	r := assemble(t, Config{Descriptors: NewDescriptors(10, 0)}, plain(1)...)
	r.Close()
	near, far := pair(t)
	newAcceptor(r.Service, newFakeListener(nil)).accepted(near)
	expectReset(t, far)
	if len(r.Stats().Ended) != 0 {
		t.Errorf("ended: %v", r.Stats().Ended)
	}
}

func TestAListenerClosedBySomebodyElseEndsItsServeOnly(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	ln, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := async(func() error { return r.Serve(ln) })
	expectEcho(t, dialTest(t, "tcp", ln.Addr().String(), ""), "x")
	ln.Close()
	if err := result(t, "Serve to return", served); !errors.Is(err, net.ErrClosed) || errors.Is(err, ErrServiceClosed) {
		t.Errorf("Serve returned %v", err)
	}
	expectEcho(t, r.connect(), "x")
}

// C72: whatever a session is doing when the service is closed, nothing of it is left.
func TestCloseDuringAFloodOfClients(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Proxy: ProxyConfig{Accept: trustLoopback.Accept, Send: 2, AcceptTimeout: patience}},
		{MaxConnections: 20, MaxPerSource: 10},
	} {
		r := serve(t, cfg, append(echoes(t, 2), refusing(t, "dead"))...)
		stop := make(chan struct{})
		var flood sync.WaitGroup
		var served atomic.Int64
		for i := range 8 {
			flood.Go(func() {
				for n := i; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					c, err := net.Dial("tcp", r.address)
					if err != nil {
						continue
					}
					c.SetDeadline(time.Now().Add(patience))
					c.Write([]byte(line4[:min(len(line4), n%100)]))
					c.(relay.Conn).CloseWrite()
					if n%3 == 0 {
						drain(c)
					}
					served.Add(1)
					c.Close()
				}
			})
		}
		eventually(t, "the flood", func() bool { return served.Load() > 200 })
		within(t, "Close to return", r.Close)
		r.expectNothingHeld()
		close(stop)
		flood.Wait()
	}
}

func TestShutdownsAtOneTimeAllReturn(t *testing.T) {
	r := serve(t, Config{}, backend(t, mute).config("b"))
	for range 10 {
		r.connect()
	}
	r.awaitRelayed(10)
	within(t, "all to return", func() { parallel(4, func(int) { r.Close() }) })
	if r.ended(relay.Drain) != 10 {
		t.Errorf("ended: %v", r.Stats().Ended)
	}
}
