package l4

import (
	"fmt"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/l4/relay"
)

// knocker returns a session whose words b has heard, and which has no backend.
func (r *rig) knocker(b *Backend) *Session {
	r.t.Helper()
	near, _ := pair(r.t)
	sess, ok := r.begin(netClient{near}, near)
	if !ok {
		r.t.Fatal("the service is closed")
	}
	r.t.Cleanup(func() { sess.turnAway(relay.End{Who: relay.Sluice, Why: relay.NoBackend}) })
	sess.trouble().heard = []hearing{{b: b, falls: b.falls.Load()}}
	return sess
}

// vanishing is a backend that takes one session, reads n bytes, ends it without one, and from
// then on does not answer a dial.
func vanishing(t testing.TB, n int) (cfg BackendConfig, gone <-chan struct{}) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", sa.(*unix.SockaddrInet4).Port)
	return BackendConfig{Address: address, Name: "vanishing", Weight: 1}, async(func() struct{} {
		c, _, err := unix.Accept(fd)
		if err != nil {
			t.Error(err)
			return struct{}{}
		}
		unix.Read(c, make([]byte, n))
		dialTest(t, "tcp", address, "") // the queue is full
		unix.Close(c)
		return struct{}{}
	})
}

// A knock is a connection like others: it must not be one more than the backend may have.
func TestAKnockDoesNotExceedTheLimitOfTheBackend(t *testing.T) {
	f := backend(t, mute)
	cfg := f.config("b1")
	cfg.MaxConnections = 1
	r := serve(t, Config{}, cfg)
	b := r.backends[0]
	sess := r.knocker(b)
	if !b.take() {
		t.Fatal("it is full")
	}
	sess.knock()
	if !sess.knocks() || b.active.Load() != 1 {
		t.Errorf("it knocked at a full backend; %d sessions", b.active.Load())
	}
	b.give()
	sess.knock()
	if sess.knocks() || b.active.Load() != 0 {
		t.Errorf("it did not knock at one that has room; %d sessions", b.active.Load())
	}
	eventually(t, "the only connection", func() bool { return f.accepted.Load() == 1 && f.now.Load() == 0 })
}

// Whatever a dial may take, a knock must not take longer than its own time: its client waits.
func TestAKnockDoesNotOutlastItsTime(t *testing.T) {
	r := serve(t, Config{Connect: ConnectConfig{Timeout: patience}}, blackhole(t, "hole"))
	sess := r.knocker(r.backends[0])
	began := time.Now()
	sess.knock()
	if took := time.Since(began); took < knockTime || took > 4*knockTime {
		t.Errorf("it took %v", took)
	}
	if sess.knocks() || r.backends[0].active.Load() != 0 {
		t.Error("the backend is not known to have gone")
	}
}

// And its session must not wait for longer than hold and a knock.
func TestAKnockDoesNotMakeHoldLonger(t *testing.T) {
	b, gone := vanishing(t, 5)
	cfg := replaying(100)
	cfg.Connect.Hold, cfg.Connect.Timeout = 100*time.Millisecond, patience
	r := serve(t, cfg, b)
	c := r.connect()
	send(t, c, "hello")
	<-gone
	began := time.Now()
	expectReset(t, c)
	if took := time.Since(began); took > 4*knockTime {
		t.Errorf("it was held for %v", took)
	}
}

// A backend is up: whoever waits must have it, and not wait for a knock at another one.
func TestAKnockHoldsUpNobody(t *testing.T) {
	b1, gone := vanishing(t, 5)
	cfg := replaying(100)
	cfg.Connect.Hold, cfg.Connect.Timeout = patience, patience
	r := serve(t, cfg, b1, backend(t, echo).config("b2"))
	r.Pool().SetHealth(r.backends[1], Down, byProbe)
	first := r.connect()
	send(t, first, "hello")
	<-gone
	eventually(t, "the knock", func() bool { return r.Backends()[0].Total == 1 && r.Backends()[0].Sessions == 1 && r.Stats().Held == 0 })
	if err := r.Pause(patience); err != nil { // or the others dial b1 as well
		t.Fatal(err)
	}
	served, wait := r.each(5)
	r.awaitHeld(5)
	r.Pool().SetHealth(r.backends[1], Up, byProbe)
	r.Resume()
	began := time.Now()
	wait()
	if took := time.Since(began); served.Load() != 5 || took > 4*knockTime {
		t.Errorf("%d of 5 were served, in %v", served.Load(), took)
	}
	if got, err := io.ReadAll(io.LimitReader(first, 5)); string(got) != "hello" {
		t.Errorf("the first one got %q, %v", got, err)
	}
}

// hold is a time on the clock: what a session's dials take in between must not be added.
func TestHoldCountsTheTimeOfDials(t *testing.T) {
	cfg := Config{Connect: ConnectConfig{Hold: 300 * time.Millisecond, Timeout: 200 * time.Millisecond}}
	r := serve(t, cfg, blackhole(t, "hole"))
	expectReset(t, r.connect())
	if n := r.Backends()[0].DialFailures["timeout"]; n > 3 {
		t.Errorf("%d dials of %v each", n, cfg.Connect.Timeout)
	}
}
