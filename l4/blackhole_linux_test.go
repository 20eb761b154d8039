package l4

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// blackhole returns a backend that does not answer a dial: its queue of length 0 is
// full, and the system drops what comes then.
func blackhole(t testing.TB, name string) BackendConfig {
	t.Helper()
	hole, _ := blackholeUntil(t, name)
	return hole
}

// blackholeUntil is a blackhole that accepts once open is called; a dial that is under way
// then is answered when its SYN is sent again, after a second.
func blackholeUntil(t testing.TB, name string) (hole BackendConfig, open func()) {
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
	dialTest(t, "tcp", address, "")
	return BackendConfig{Address: address, Name: name, Weight: 1}, func() {
		if filler, _, err := unix.Accept(fd); err == nil {
			unix.Close(filler)
		}
	}
}

// C55
func TestASilentBackendCostsItsClientsOneTimeoutAndOthersNothing(t *testing.T) {
	const timeout = 300 * time.Millisecond
	r := serve(t, Config{Connect: ConnectConfig{Timeout: timeout}}, append(echoes(t, 2), blackhole(t, "hole"))...)
	heard := observe(r.backends[2])
	retries := func() int64 { return r.Backends()[0].Retries + r.Backends()[1].Retries }
	for range 6 {
		before := retries()
		begin := time.Now()
		expectEcho(t, r.connect(), "x")
		took := time.Since(begin)
		if retries() > before {
			if took < timeout {
				t.Errorf("a client that was sent to the silent one first was served in %v", took)
			}
		} else if took > timeout {
			t.Errorf("a client that was not waited %v", took)
		}
	}
	hole := r.Backends()[2]
	if n := hole.DialFailures["timeout"]; n < 2 || n > 4 || hole.Total != 0 {
		t.Errorf("dials failed of %v", hole.DialFailures)
	}
	for _, f := range heard.failures() {
		if f != "no answer within 300ms" {
			t.Errorf("the observer heard %q", f)
		}
	}
}

// C55
func TestPendingDialsDoNotStallOtherClients(t *testing.T) {
	const pending = 100
	hole := blackhole(t, "hole")
	hole.MaxConnections = pending
	r := serve(t, Config{Balance: picker.First}, hole, backend(t, echo).config("echo"))
	heard := observe(r.backends[0])
	var waiting []relay.Conn
	for range pending {
		waiting = append(waiting, r.connect())
	}
	eventually(t, "the dials to be under way", func() bool { return r.Backends()[0].Sessions == pending })
	for range 10 {
		expectEcho(t, r.connect(), "x")
	}
	// The dials are cancelled, and their clients reset.
	within(t, "Close to return", r.Close)
	for _, c := range waiting {
		expectReset(t, c)
	}
	if f := r.dialFailures(); f["cancelled"] != pending || len(heard.failures()) != 0 {
		t.Errorf("dials failed of %v, the observer heard %v", f, heard.failures())
	}
	r.awaitEnded(relay.Drain, pending+10)
}

// C72
func TestABackendThatGoesDownWhileItIsDialledIsLeftForAnother(t *testing.T) {
	r := serve(t, Config{Balance: picker.First, Connect: ConnectConfig{Timeout: 300 * time.Millisecond}},
		blackhole(t, "hole"), backend(t, echo).config("echo"))
	c := r.connect()
	eventually(t, "the dial to be under way", func() bool { return r.Backends()[0].Sessions == 1 })
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	expectEcho(t, c, "x")
	if r.Backends()[0].Sessions != 0 {
		t.Error("the first backend is still held")
	}
}

// What a client sends before its backend is there, its end of stream included, waits.
func TestAOneShotClientIsServedAfterALongDial(t *testing.T) {
	r := serve(t, Config{Balance: picker.First, Connect: ConnectConfig{Timeout: 100 * time.Millisecond}},
		blackhole(t, "hole"), backend(t, echo).config("echo"))
	for _, size := range []int{0, 1, 50_000} {
		c := r.connect()
		send(t, c, text(size))
		c.CloseWrite()
		if got, end := drain(c); got != text(size) || end != "eof" {
			t.Errorf("%d bytes of %d came back, then %s", len(got), size, end)
		}
	}
	r.awaitEnded(relay.EOF, 3)
}

// C64
func TestSessionsStillDiallingAtTheDeadlineAreKilledAndCounted(t *testing.T) {
	r := serve(t, Config{Balance: picker.First}, blackhole(t, "hole"))
	c := r.connect()
	eventually(t, "the dial to be under way", func() bool { return r.Backends()[0].Sessions == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if n := r.Shutdown(ctx); n != 1 {
		t.Errorf("%d forced", n)
	}
	expectReset(t, c)
	l := r.log.await(t, "session", 1)[0]
	if l["end.who"] != "operator" || l["end.why"] != "drain" || l["backend"] != "hole" || l["attempts"] != "1" {
		t.Errorf("logged %v", l)
	}
}

func TestAClientThatResetsWhileItsBackendIsDialledIsNotTriedElsewhere(t *testing.T) {
	other := backend(t, echo)
	r := serve(t, Config{Balance: picker.First, Connect: ConnectConfig{Timeout: 300 * time.Millisecond}},
		blackhole(t, "hole"), other.config("other"))
	c := r.connect()
	eventually(t, "the dial to be under way", func() bool { return r.Backends()[0].Sessions == 1 })
	abort(c)
	r.awaitEnded(relay.Reset, 1)
	if l := r.log.await(t, "session", 1)[0]; l["end.who"] != "client" || other.accepted.Load() != 0 {
		t.Errorf("logged %v; %d dials elsewhere", l, other.accepted.Load())
	}
}

// C82
func TestAConnectionThatMetItselfIsRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().(*net.TCPAddr)
	ln.Close()
	r := assemble(t, Config{Balance: picker.First}, BackendConfig{Address: address.String(), Name: "self", Weight: 1})
	r.cfg().dialer.LocalAddr = address // what may happen by chance otherwise
	r.address = r.listen("127.0.0.1:0").String()
	heard := observe(r.backends[0])
	r.expectTurnedAway()
	r.awaitEnded(relay.ConnectFailed, 1)
	if f := r.dialFailures(); f["self"] != 1 {
		t.Errorf("dials failed of %v", f)
	}
	if f := heard.failures(); len(f) != 1 || !strings.Contains(f[0], "itself") || heard.ok.Load() != 0 {
		t.Errorf("the observer heard %v", f)
	}
	if ln, err = net.Listen("tcp", address.String()); err != nil {
		t.Errorf("the backend cannot have its port back: %v", err)
	} else {
		ln.Close()
	}
}
