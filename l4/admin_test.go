package l4

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

func TestPeopleTakeABackendOutAndPutItBack(t *testing.T) {
	for _, a := range []Admin{Drain, Maint} {
		r := serve(t, Config{Balance: picker.First}, greeters(t, 2)...)
		p := r.Pool()
		p.SetHealth(r.backends[0], Up, byProbe)
		p.SetHealth(r.backends[1], Up, byProbe)
		old := r.connect()
		expectRead(t, old, "1")
		r.log.said()
		if !p.SetAdmin(r.backends[0], a, byAdmin) || p.SetAdmin(r.backends[0], a, byAdmin) {
			t.Errorf("%s is said once", a)
		}
		if l := r.log.of("backend down"); len(l) != 1 || l[0]["to"] != a.String() || l[0]["source"] != "admin" || l[0]["sessions"] != "1" {
			t.Errorf("logged %v", l)
		}
		for range 5 {
			expectRead(t, r.connect(), "2")
		}
		if b := r.Backends()[0]; b.Admin != a || b.Usable || b.Reason != byAdmin.Reason || b.Sessions != 1 {
			t.Errorf("%+v", b)
		}
		if !p.SetAdmin(r.backends[0], Ready, byAdmin) {
			t.Error("ready is no change")
		}
		want, health := "1", Up
		if a == Maint { // nobody has looked at it
			want, health = "2", Unknown
		}
		expectRead(t, r.connect(), want)
		if b := r.Backends()[0]; b.Health != health || !b.Usable {
			t.Errorf("%+v", b)
		}
		old.CloseWrite()
		expectDrain(t, old, "", "eof")
	}
}

func TestInMaintVerdictsOfProbesAndDialsCountForNothing(t *testing.T) {
	p, b, j := pool(t, picker.First, plain(2)...)
	p.Eject(b[0], byDial)
	p.SetHealth(b[0], Down, byProbe)
	p.SetAdmin(b[0], Maint, byAdmin)
	if b[0].health != Unknown || b[0].ejected {
		t.Errorf("%s, ejected: %v", b[0].health, b[0].ejected)
	}
	j.said()
	falls := b[0].falls.Load()
	p.SetHealth(b[0], Up, byProbe)
	p.SetHealth(b[0], Down, byProbe)
	if b[0].health != Unknown || b[0].falls.Load() != falls || len(j.said()) != 0 || b[0].why().reason != byAdmin.Reason {
		t.Errorf("%s: %s", b[0].health, b[0].why().reason)
	}
	p.SetAdmin(b[0], Drain, byAdmin)
	p.SetHealth(b[0], Down, byProbe)
	p.SetAdmin(b[0], Ready, byAdmin)
	if b[0].health != Down || p.shape() != "b2" {
		t.Errorf("%s, tiers %q", b[0].health, p.shape())
	}
}

func TestAReadyBackendWhoseCheckFailsIsSaidToBeSo(t *testing.T) {
	p, b, j := pool(t, picker.First, plain(2)...)
	p.SetAdmin(b[0], Drain, byAdmin)
	p.SetHealth(b[0], Down, byProbe)
	p.SetAdmin(b[0], Ready, byAdmin)
	l := j.of("backend still down")
	if last := l[len(l)-1]; last["from"] != "drain" || last["to"] != "down" || last["reason"] != "asked to, but its check fails: 2 in a row" {
		t.Errorf("logged %v", l)
	}
}

func TestTheLastUsableBackendMayBeDrained(t *testing.T) {
	p, b, j := pool(t, picker.First, plain(2)...)
	p.Eject(b[1], byDial)
	p.SetAdmin(b[0], Drain, byAdmin) // the other one is ejected: better than nothing
	if p.shape() != "b2" || b[1].ejected || len(j.of("no usable backend")) != 0 {
		t.Errorf("tiers %q", p.shape())
	}
	p.SetAdmin(b[1], Maint, byAdmin)
	if l := j.of("no usable backend"); len(l) != 1 || l[0]["reason"] != "no backend may get new sessions" || p.shape() != "" {
		t.Errorf("tiers %q, logged %v", p.shape(), l)
	}
	p.SetAdmin(b[1], Drain, byAdmin)
	p.SetAdmin(b[0], Ready, byAdmin)
	if p.shape() != "b1" || len(j.of("usable again")) != 1 || len(j.of("no usable backend")) != 1 {
		t.Errorf("tiers %q", p.shape())
	}
}

// Held clients go on when somebody says ready, as they do when a probe says up.
func TestClientsWaitWhileAllBackendsAreDrained(t *testing.T) {
	r := serve(t, Config{Connect: holdFor(patience)}, echoes(t, 1)...)
	r.Pool().SetAdmin(r.backends[0], Drain, byAdmin)
	served, wait := r.each(20)
	r.awaitHeld(20)
	r.Pool().SetAdmin(r.backends[0], Ready, byAdmin)
	wait()
	if served.Load() != 20 {
		t.Errorf("%d were served", served.Load())
	}
}

// Whoever is drained while clients come has no new session from the answer on, and costs
// nobody anything.
func TestAfterTheAnswerNoSessionBegins(t *testing.T) {
	for _, n := range []int{2, fewBackends + 2} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			server := backend(t, echo)
			var all []BackendConfig
			for i := range n {
				all = append(all, server.config(fmt.Sprint("b", i)))
			}
			r := serve(t, Config{SessionLog: LogOff}, all...)
			stop := r.flood("tcp", r.address)
			for i := range 40 {
				b := r.backends[i%n]
				// Clients come meanwhile, however quick this loop is.
				eventually(t, "a session to begin", func() bool { return b.total.Load() > 0 || i%10 != 0 })
				r.Pool().SetAdmin(b, []Admin{Drain, Maint}[i/n%2], byAdmin)
				eventually(t, "those that had begun to end", func() bool { return b.active.Load() == 0 })
				before := b.total.Load()
				r.awaitMore(20)
				if after := b.total.Load(); after != before {
					t.Errorf("%d sessions began after the answer", after-before)
				}
				r.Pool().SetAdmin(b, Ready, byAdmin)
				r.awaitMore(5)
			}
			stop()
			r.awaitActive(0)
			if st := r.Stats(); len(st.Ended) != 1 {
				t.Errorf("ended: %v", st.Ended)
			}
		})
	}
}

// connectAll returns n clients that are served by b.
func (r *rig) connectAll(n int) (all []relay.Conn) {
	r.t.Helper()
	for range n {
		c := r.connect()
		expectEcho(r.t, c, "x")
		all = append(all, c)
	}
	return all
}

// C68, C71
func TestWhatARemovedBackendHasLeftIsResetAfterTheTime(t *testing.T) {
	const within = 200 * time.Millisecond
	r := serve(t, Config{Balance: picker.First}, echoes(t, 2)...)
	its := r.connectAll(5)
	r.edit(Edit{Remove: r.backends[:1]})
	others := r.connectAll(5)
	its[0].CloseWrite() // it ends by itself
	expectDrain(t, its[0], "", "eof")
	r.awaitEnded(relay.EOF, 1)
	began := time.Now()
	r.EndRemoved(r.backends[0], within)
	for _, c := range its[1:] {
		expectReset(t, c)
	}
	if took := time.Since(began); took < within {
		t.Errorf("reset after %v", took)
	}
	r.awaitEnded(relay.Drain, 4)
	for _, c := range others {
		expectEcho(t, c, "y")
	}
	if l := r.log.await(t, "sessions closed", 1); l[0]["backend"] != "b1" || l[0]["sessions"] != "4" || l[0]["reason"] != "drain" {
		t.Errorf("logged %v", l)
	}
	eventually(t, "it to be forgotten", func() bool { return len(r.Backends()) == 1 })
}

func TestWhatARemovedBackendHasMayBeResetAtOnceOrNever(t *testing.T) {
	r := serve(t, Config{Balance: picker.First}, echoes(t, 2)...)
	its := r.connectAll(3)
	r.EndRemoved(r.backends[0], -1) // it is in the pool
	r.closings.Wait()
	r.edit(Edit{Remove: r.backends[:1]})
	r.EndRemoved(r.backends[0], 0)
	r.closings.Wait()
	for _, c := range its {
		expectEcho(t, c, "y")
	}
	r.EndRemoved(r.backends[0], -1)
	for _, c := range its {
		expectReset(t, c)
	}
}

func TestABackendThatIsBackInTimeKeepsItsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			steps func(leave func(time.Duration), back func())
			lasts time.Duration // 0 = for ever
		}{
			{"it stays away", func(leave func(time.Duration), back func()) { leave(time.Minute) }, time.Minute},
			{"it is back", func(leave func(time.Duration), back func()) {
				leave(time.Minute)
				time.Sleep(50 * time.Second)
				back()
			}, 0},
			{"it goes again, for as long", func(leave func(time.Duration), back func()) {
				leave(time.Minute)
				time.Sleep(50 * time.Second)
				back()
				leave(time.Minute)
			}, 110 * time.Second},
			{"it goes again, for good", func(leave func(time.Duration), back func()) {
				leave(time.Minute)
				time.Sleep(50 * time.Second)
				back()
				leave(0)
			}, 0},
		} {
			s, err := New(Config{Name: "svc"})
			if err != nil {
				t.Fatal(err)
			}
			all, err := s.Pool().Add(plain(1)...)
			if err != nil {
				t.Fatal(err)
			}
			near, far := net.Pipe()
			sess := s.pretend(all[0], near)
			began := time.Now()
			ended := async(func() time.Duration {
				far.Read(make([]byte, 1))
				return time.Since(began)
			})
			c.steps(func(d time.Duration) {
				if _, err := s.Pool().Edit(Edit{Remove: all}, byAdmin); err != nil {
					t.Error(err)
				}
				s.EndRemoved(all[0], d)
			}, func() {
				if again, err := s.Pool().Edit(Edit{Add: plain(1)}, byAdmin); err != nil || again[0] != all[0] {
					t.Error(again, err)
				}
			})
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			select {
			case lasted := <-ended:
				if lasted != c.lasts {
					t.Errorf("%s: the session was reset after %v, want %v", c.name, lasted, c.lasts)
				}
			default:
				if c.lasts != 0 {
					t.Errorf("%s: the session was not reset", c.name)
				}
			}
			sess.turnAway(relay.End{Who: relay.Client, Why: relay.Reset})
			s.Close()
		}
	})
}

// bubbled makes a relay.Conn of what lives in a bubble of synctest.
type bubbled struct{ net.Conn }

func (bubbled) CloseWrite() error                     { return nil }
func (bubbled) SyscallConn() (syscall.RawConn, error) { return nil, syscall.EINVAL }

// pretend makes a session that b has accepted.
func (s *Service) pretend(b *Backend, client net.Conn) *Session {
	sess, _ := s.begin(netClient{client}, bubbled{client})
	b.take()
	sess.backend = b
	sess.serving.Store(b)
	return sess
}
