package l4

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/picker"

	"github.com/sluicelb/sluice/l4/relay"
)

func holdFor(d time.Duration) ConnectConfig { return ConnectConfig{Hold: d} }

// awaitHeld waits until n clients wait for a backend.
func (r *rig) awaitHeld(n int32) {
	r.t.Helper()
	eventually(r.t, "clients to wait", func() bool { return r.Stats().Held == int64(n) })
}

// each has n clients echo at one time, and returns how many did.
func (r *rig) each(n int) (served *atomic.Int64, wait func()) {
	served = new(atomic.Int64)
	var wg sync.WaitGroup
	for range n {
		c := r.connect()
		wg.Go(func() {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			if n, _ := c.Read(make([]byte, 1)); n == 1 {
				served.Add(1)
			}
			c.Close()
		})
	}
	return served, wg.Wait
}

func TestClientsWaitWhileEveryBackendIsDown(t *testing.T) {
	const clients = 50
	r := serve(t, Config{Connect: holdFor(patience)}, echoes(t, 2)...)
	for _, b := range r.backends {
		r.Pool().SetHealth(b, Down, byProbe)
	}
	served, wait := r.each(clients)
	r.awaitHeld(clients)
	r.Pool().SetHealth(r.backends[1], Up, byProbe)
	wait()
	if served.Load() != clients {
		t.Errorf("%d of %d were served", served.Load(), clients)
	}
	r.awaitEnded(relay.EOF, clients)
	if n := len(r.log.of("no usable backend")); n != 1 {
		t.Errorf("%d outages were logged", n)
	}
	if l := r.log.await(t, "session", 1)[0]; l["held"] == "" || l["attempts"] != "1" {
		t.Errorf("logged %v", l)
	}
}

// The pool never takes the last backend out of use for failed dials, so it has no change
// to tell of.
func TestClientsWaitWhileTheOnlyBackendIsRestarted(t *testing.T) {
	const clients = 50
	f := backend(t, echo)
	r := serve(t, Config{Connect: holdFor(patience)}, f.config("b1"))
	f.stop()
	served, wait := r.each(clients)
	r.awaitHeld(clients)
	again := backendOn(t, "tcp", f.address, echo)
	wait()
	if served.Load() != clients {
		t.Errorf("%d of %d were served", served.Load(), clients)
	}
	again.stop()
	dials := r.Backends()[0].DialFailures["refused"]
	if dials < clients || dials > 4*clients {
		t.Errorf("%d dials failed of %d clients: only the first in the line is to try", dials, clients)
	}
}

func TestAClientIsRefusedWhenItHasWaitedLongEnough(t *testing.T) {
	const hold = 100 * time.Millisecond
	r := serve(t, Config{Connect: holdFor(hold)}, echoes(t, 1)...)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	began := time.Now()
	expectReset(t, r.connect())
	if took := time.Since(began); took < hold {
		t.Errorf("refused after %v", took)
	}
	r.awaitEnded(relay.NoBackend, 1)
	r.awaitHeld(0)
	if l := r.log.await(t, "session", 1)[0]; l["end.why"] != "no-backend" || l["held"] == "" {
		t.Errorf("logged %v", l)
	}
}

func TestAHeldClientThatLeavesIsForgotten(t *testing.T) {
	f := backend(t, echo)
	for name, leave := range map[string]func(relay.Conn){
		"closes": func(c relay.Conn) { c.Close() },
		"resets": func(c relay.Conn) { abort(c) },
	} {
		r := serve(t, Config{Connect: holdFor(patience)}, f.config("b1"))
		r.Pool().SetHealth(r.backends[0], Down, byProbe)
		gone, stays := r.connect(), r.connect()
		r.awaitHeld(2)
		leave(gone)
		r.awaitHeld(1)
		r.Pool().SetHealth(r.backends[0], Up, byProbe)
		expectEcho(t, stays, name)
		if n := r.Backends()[0].Total; n != 1 {
			t.Errorf("%s: the backend had %d sessions", name, n)
		}
	}
}

func TestTheLineIsBoundedAndKeepsItsOrder(t *testing.T) {
	one := backend(t, echo).config("b1")
	one.MaxConnections = 1
	r := serve(t, Config{Connect: holdFor(patience), MaxHeld: 3}, one)
	first := r.connect()
	expectEcho(t, first, "0")
	var line []relay.Conn
	for i := range 3 {
		line = append(line, r.connect())
		r.awaitHeld(int32(i + 1))
	}
	r.expectTurnedAway()
	r.awaitEnded(relay.BackendsFull, 1)
	first.Close()
	for i, c := range line {
		expectEcho(t, c, "x")
		r.awaitHeld(int32(len(line) - 1 - i))
		c.Close()
	}
	r.awaitEnded(relay.EOF, 4)
}

// A client that has no backend yet is ended like any other when the service ends.
func TestHeldClientsAreEndedWithTheService(t *testing.T) {
	r := serve(t, Config{Connect: holdFor(patience)}, echoes(t, 1)...)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	c := r.connect()
	r.awaitHeld(1)
	within(t, "Close to return", r.Close)
	expectReset(t, c)
	r.awaitEnded(relay.Drain, 1)
}

func TestAPausedServiceLetsItsClientsWait(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 2)...)
	old := r.connect()
	expectEcho(t, old, "x")
	if err := r.Pause(0); err == nil {
		t.Error("a pause of no time was accepted")
	}
	if err := r.Pause(patience); err != nil {
		t.Fatal(err)
	}
	served, wait := r.each(20)
	r.awaitHeld(20)
	expectEcho(t, old, "sessions go on")
	if !r.Resume() || r.Resume() {
		t.Error("a service is resumed once")
	}
	wait()
	if served.Load() != 20 {
		t.Errorf("%d were served", served.Load())
	}
}

func TestAPauseThatIsForgottenEndsByItself(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	if err := r.Pause(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	expectEcho(t, r.connect(), "x")
	if l := r.log.of("resumed"); len(l) != 1 || l[0]["reason"] != "the time of the pause is over" {
		t.Errorf("logged %v", l)
	}
}

// Backends come and go while clients come: nobody waits for ever, whatever falls together.
func TestNoClientIsForgottenInTheLine(t *testing.T) {
	const clients = 300
	few := echoes(t, 2)
	few[0].MaxConnections, few[1].MaxConnections = 2, 2
	r := serve(t, Config{Connect: holdFor(patience)}, few...)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				for _, b := range r.backends {
					r.Pool().SetHealth(b, Up, byProbe)
				}
				return
			default:
				r.Pool().SetHealth(r.backends[i%2], []Health{Down, Up}[i/2%2], byProbe)
			}
		}
	}()
	served, wait := r.each(clients)
	eventually(t, "half of the clients to be served", func() bool { return served.Load() >= clients/2 })
	close(stop)
	<-stopped
	wait()
	if served.Load() != clients {
		t.Errorf("%d of %d were served", served.Load(), clients)
	}
}

// Nobody hangs who may not wait: after a pause without a backend all are refused.
func TestAResumedServiceWithoutABackendRefusesEverybodyAtOnce(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	if err := r.Pause(patience); err != nil {
		t.Fatal(err)
	}
	var clients []relay.Conn
	for range 3 {
		clients = append(clients, r.connect())
	}
	r.awaitHeld(3)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	r.Resume()
	for _, c := range clients {
		expectReset(t, c)
	}
	r.awaitEnded(relay.NoBackend, 3)
}

func TestASecondPauseSetsTheTimeAnew(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	for range 2000 {
		if err := r.Pause(time.Nanosecond); err != nil {
			t.Fatal(err)
		}
		if err := r.Pause(time.Hour); err != nil {
			t.Fatal(err)
		}
		if !r.Resume() {
			t.Fatal("the first pause has ended the second")
		}
	}
	r.Close()
	if err := r.Pause(time.Hour); err != ErrServiceClosed {
		t.Errorf("a closed service was paused: %v", err)
	}
}

// Probes go on while a service ends.
func TestVerdictsDuringTheEndOfAServiceAreHarmless(t *testing.T) {
	for range 50 {
		r := serve(t, Config{OnDown: OnDownClose}, echoes(t, 2)...)
		c := r.connect()
		expectEcho(t, c, "x")
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					r.Pool().SetHealth(r.backends[0], []Health{Down, Up}[i%2], byProbe)
				}
			}
		}()
		r.Close()
		close(stop)
		<-stopped
	}
}

func TestHeldClientsOfADeadBackendDoNotWakeEachOther(t *testing.T) {
	for _, most := range []int{0, 1, 100} {
		dead := refusing(t, "dead")
		dead.MaxConnections = most
		r := serve(t, Config{Connect: holdFor(time.Second), SessionLog: LogOff}, dead)
		clients := []relay.Conn{r.connect(), r.connect(), r.connect()}
		for _, c := range clients {
			expectReset(t, c)
		}
		if n := r.Backends()[0].DialFailures["refused"]; n > 100 {
			t.Errorf("max_connections %d: %d dials in a second for %d clients", most, n, len(clients))
		}
	}
}

// A change gives everybody in the line a turn, and not one turn after the other for ever.
func TestAChangeGivesEachHeldClientOneTurn(t *testing.T) {
	var r waitingRoom
	r.most = 3
	a, b := &waiter{}, &waiter{}
	r.enter(a, r.look())
	r.enter(b, r.look())
	r.signal()
	<-a.turn
	r.next(1)
	<-b.turn
	r.enter(a, r.look())
	r.enter(b, r.look())
	r.next(2)
	if !a.inLine || !b.inLine {
		t.Error("there was one change, and they had a second turn")
	}
	r.signal()
	<-a.turn
}

func TestAFullBackendDoesNotHideOneThatIsBack(t *testing.T) {
	full := backend(t, echo).config("full")
	full.MaxConnections = 1
	f := backend(t, echo)
	r := serve(t, Config{Balance: picker.First, Connect: holdFor(patience)}, full, f.config("free"))
	expectEcho(t, r.connect(), "x")
	f.stop()
	first := r.connect() // it meets the refusal
	r.awaitHeld(1)
	backendOn(t, "tcp", f.address, echo)
	for range 20 {
		expectEcho(t, r.connect(), "x")
	}
	expectEcho(t, first, "x")
}

func TestAHeldClientKeepsItsPlaceWhileItHasItsTurn(t *testing.T) {
	var r waitingRoom
	r.most = 1
	w := &waiter{}
	r.enter(w, r.look())
	r.signal()
	<-w.turn
	if r.enter(&waiter{}, r.look()) {
		t.Error("a newcomer has the only place")
	}
	if !r.enter(w, r.look()) {
		t.Fatal("its place is gone")
	}
	r.leave(w)
	r.depart()
	if !r.enter(&waiter{}, r.look()) {
		t.Error("there is no place though nobody is there")
	}
}

// One that waits for its words' sake does not keep those behind it from a backend that is
// back, and neither do ten.
func TestAHeldClientWhoseBackendHasHeardItHoldsUpNobody(t *testing.T) {
	const others = 20
	for _, most := range []int{0, 1000} {
		cfg := replaying(100)
		cfg.OnDown, cfg.Connect.Hold = OnDownClose, patience
		var frozen atomic.Bool
		frozen.Store(true)
		one := backend(t, func(c relay.Conn) {
			if frozen.Load() {
				mute(c)
				return
			}
			echo(c)
		}).config("b1")
		one.MaxConnections = most
		r := serve(t, cfg, one)
		p, b := r.Pool(), r.backends[0]
		var heard []relay.Conn
		for range 10 {
			c := r.connect()
			send(t, c, "hello")
			heard = append(heard, c)
		}
		eventually(t, "the flights", func() bool { return b.total.Load() == 10 })
		p.SetHealth(b, Down, byProbe)
		r.awaitHeld(10)
		served, wait := r.each(others)
		r.awaitHeld(10 + others)
		frozen.Store(false)
		began := time.Now()
		p.SetHealth(b, Up, byProbe)
		wait()
		if served.Load() != others {
			t.Errorf("%d of %d were served", served.Load(), others)
		}
		for _, c := range heard { // it has gone down since it heard them: it may hear them again
			expectRead(t, c, "hello")
		}
		if took := time.Since(began); took > patience/3 {
			t.Errorf("all were served after %v", took)
		}
	}
}

// Likewise if it is not known to have fallen: those who wait for another backend stand aside.
func TestAHeldClientThatMayNotBeReplayedHoldsUpNobody(t *testing.T) {
	cfg := replaying(100)
	cfg.Connect.Hold = patience
	var heard atomic.Bool
	r := serve(t, cfg, backend(t, func(c relay.Conn) {
		if heard.CompareAndSwap(false, true) {
			read(t, c, 5)
			abort(c)
			return
		}
		echo(c)
	}).config("b1"))
	first := r.connect()
	send(t, first, "hello")
	r.awaitHeld(1)
	r.Pool().SetAdmin(r.backends[0], Drain, byAdmin)
	served, wait := r.each(20)
	r.awaitHeld(21)
	r.Pool().SetAdmin(r.backends[0], Ready, byAdmin)
	wait()
	if served.Load() != 20 {
		t.Errorf("%d were served", served.Load())
	}
	if n := r.Stats().Held; n != 1 {
		t.Errorf("%d wait, want the one whose words it has had", n)
	}
	more, err := r.Pool().Add(backend(t, echo).config("b2"))
	if err != nil {
		t.Fatal(err)
	}
	r.Pool().SetHealth(more[0], Up, byProbe)
	expectRead(t, first, "hello")
}

func TestWhoWaitsForAPauseIsServedWhenTheServiceEnds(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	if err := r.Pause(time.Hour); err != nil {
		t.Fatal(err)
	}
	c := r.connect()
	r.awaitHeld(1)
	forced := async(func() int { return r.Shutdown(t.Context()) })
	expectEcho(t, c, "x")
	c.Close()
	if n := result(t, "the end", forced); n != 0 {
		t.Errorf("%d sessions were reset", n)
	}
}
