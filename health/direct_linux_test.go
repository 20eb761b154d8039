package health

import (
	"context"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestOnlyPlainAddressesAreProbedDirectly(t *testing.T) {
	for _, tt := range []struct {
		endpoint Endpoint
		want     bool
	}{
		{Endpoint{Network: "tcp", Address: "127.0.0.1:80"}, true},
		{Endpoint{Network: "tcp4", Address: "127.0.0.1:80"}, true},
		{Endpoint{Network: "tcp", Address: "[::1]:80"}, true},
		{Endpoint{Network: "tcp6", Address: "[::1]:80"}, true},
		{Endpoint{Network: "tcp6", Address: "127.0.0.1:80"}, false},
		{Endpoint{Network: "tcp6", Address: "[::ffff:127.0.0.1]:80"}, false},
		{Endpoint{Network: "tcp", Address: "[::ffff:127.0.0.1]:80"}, true},
		{Endpoint{Network: "tcp4", Address: "[::1]:80"}, false},
		{Endpoint{Network: "tcp", Address: "localhost:80"}, false},
		{Endpoint{Network: "tcp", Address: "[fe80::1%lo]:80"}, false},
		{Endpoint{Network: "tcp", Address: "0.0.0.0:80"}, false},
		{Endpoint{Network: "tcp", Address: "127.0.0.1:http"}, false},
		{Endpoint{Network: "tcp", Address: "127.0.0.1:80", Preamble: []byte("PROXY UNKNOWN\r\n")}, false},
		{Endpoint{Network: "unix", Address: "/run/x"}, false},
	} {
		if got := newDirect(tt.endpoint) != nil; got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.endpoint, got, tt.want)
		}
	}
}

// bothWays probes an endpoint directly, and through package net.
func bothWays(e Endpoint) map[string]Prober {
	return map[string]Prober{"directly": TCP(e), "through package net": tcpProber{endpoint: e}}
}

func TestADirectProbeSaysWhatTheOtherSays(t *testing.T) {
	_, live := serveTCP(t, readAll)
	_, live6 := serveTCP6(t)
	full := fullBackend(t)
	for name, e := range map[string]Endpoint{
		"alive": live, "alive by IPv6": live6,
		"dead":        {Network: "tcp", Address: deadAddress(t)},
		"full":        {Network: "tcp", Address: full},
		"unreachable": {Network: "tcp", Address: "255.255.255.255:80"},
	} {
		reasons := map[string]string{}
		for how, p := range bothWays(e) {
			if err := probe(t, p, 100*time.Millisecond); err != nil {
				reasons[how] = err.Error()
			}
		}
		if reasons["directly"] != reasons["through package net"] || (reasons["directly"] == "") != strings.HasPrefix(name, "alive") {
			t.Errorf("%s: %q", name, reasons)
		}
	}
}

func serveTCP6(t *testing.T) (*testBackend, Endpoint) {
	t.Helper()
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, readAll), Endpoint{Network: "tcp", Address: ln.Addr().String()}
}

// fullBackend listens, and its queue is full until the test ends.
func fullBackend(t *testing.T) string {
	t.Helper()
	address, _ := queue(t)
	return address
}

// queue listens on an address whose queue is full until drain is called.
func queue(t *testing.T) (address string, drain func()) {
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
	address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(sa.(*unix.SockaddrInet4).Port)).String()
	filler, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { filler.Close() })
	return address, func() {
		if c, _, err := unix.Accept(fd); err == nil {
			unix.Close(c)
		}
	}
}

func TestADirectProbePassesThoughTheHandshakeTakesTime(t *testing.T) {
	address, drain := queue(t)
	p := TCP(Endpoint{Network: "tcp", Address: address})
	t.Cleanup(func() { p.(io.Closer).Close() })
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() { ended <- p.Probe(ctx) }()
	drain() // the system tries again after a second
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestACancelledDirectProbeReturnsAtOnce(t *testing.T) {
	p := TCP(Endpoint{Network: "tcp", Address: fullBackend(t)})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	begin := time.Now()
	if err := p.Probe(ctx); err == nil || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

func TestAProbeThatIsCancelledBeforeItBeginsDoesNotPass(t *testing.T) {
	_, endpoint := serveTCP(t, readAll)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for how, p := range bothWays(endpoint) {
		if err := p.Probe(ctx); err == nil || err.Error() != "connect: stopped" {
			t.Errorf("%s: %v", how, err)
		}
	}
}

func TestADirectConnectionToItselfIsSeen(t *testing.T) {
	conn, addr := dialItself(t, net.Dialer{Control: resetOnClose})
	defer conn.Close()
	d := newDirect(Endpoint{Network: "tcp", Address: addr})
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		if !d.isPeer(int(fd)) {
			t.Error("it is not seen")
		}
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAGoodbyeEndsWhenTheBackendEndsOrTheNextProbeBegins(t *testing.T) {
	release := make(chan struct{})
	b, endpoint := serveTCP(t, func(c net.Conn) error { // reads the end, and does not end itself
		if err := readAll(c); err != nil {
			return err
		}
		<-release
		return nil
	})
	d := newDirect(endpoint)
	held := func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.bye.fd
	}
	for range 3 {
		if err := d.probe(t.Context(), endpoint); err != nil || held() < 0 {
			t.Fatalf("%v; it holds %d", err, held())
		}
	}
	close(release)
	for range 3 {
		if err := b.end(t); err != nil {
			t.Error(err)
		}
	}
	for begin := time.Now(); held() >= 0; {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("it holds a connection that has ended")
		}
		runtime.Gosched()
	}
}

func TestWaitsOfManyEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(3 * time.Millisecond) // off the beat
		for _, d := range []time.Duration{time.Nanosecond, beat / 2, beat - 3*time.Millisecond, beat, time.Second, time.Second + 1} {
			wait := onBeat(d, beat)
			if at := time.Now().Add(wait).UnixNano(); time.Duration(at)%beat != 0 || wait < d || wait >= d+beat {
				t.Errorf("%v becomes %v", d, wait)
			}
		}
		if onBeat(0, beat) != 0 || onBeat(-time.Second, beat) != -time.Second {
			t.Error("what is due is put off")
		}
	})
}
