package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAnAcceptedSessionIsConnectedAndRelayed(t *testing.T) {
	ln, to := listener(t)
	f := receive(t, Sockets{}, func() *opener {
		return &opener{steps: []Step{{To: refusing(t)}, {To: to, Timeout: patience}}, greeting: "hello "}
	})
	client := f.connect()
	backend := accepted(t, ln)
	o := f.last(1)
	if err := result(t, "the first dial", o.failed); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the first dial failed with %v", err)
	}
	io.WriteString(client, "world")
	got := make([]byte, len("hello world"))
	if _, err := io.ReadFull(backend, got); err != nil || string(got) != "hello world" {
		t.Errorf("the backend read %q, %v", got, err)
	}
	eventually(t, "the payload alone to be counted", func() bool { return o.Moved(ToBackend) == int64(len("world")) })
	backend.Close()
	client.Close()
	if e := result(t, "the end", o.ends); e != (End{Backend, EOF}) || !o.dialled.Load() {
		t.Errorf("ended by %v, dialled %v", e, o.dialled.Load())
	}
}

func TestAnAddressThatIsKnownIsDialledAndANameIsNot(t *testing.T) {
	for _, c := range []struct{ network, address, want string }{
		{"tcp", "127.0.0.1:80", "127.0.0.1:80"},
		{"tcp", "[::1]:80", "[::1]:80"},
		{"tcp", "[::ffff:127.0.0.1]:80", "127.0.0.1:80"},
		{"unix", "/run/x", "/run/x"},
		{"unix", "@x", "@x"},
		{"tcp", "localhost:80", ""},
		{"tcp", ":80", ""},
		{"tcp", "[fe80::1%lo]:80", ""},
		{"unix", "", ""},
		{"unix", "/" + string(make([]byte, 200)), ""},
	} {
		a := NewAddress(c.network, c.address)
		if a == nil && c.want == "" {
			continue
		}
		if a == nil || a.String() != c.want || c.network == "tcp" && a.raw.get().String() != c.want {
			t.Errorf("%s %q: %v, want %q", c.network, c.address, a, c.want)
		}
	}
}

func TestADialOverAUnixSocketIsRelayed(t *testing.T) {
	for _, path := range []string{t.TempDir() + "/s", "@sluice-test-" + t.Name()} {
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		f := receive(t, Sockets{}, func() *opener { return &opener{steps: []Step{{To: NewAddress("unix", path)}}} })
		client := f.connect()
		backend, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(client, "x")
		client.CloseWrite()
		if got, err := io.ReadAll(backend); string(got) != "x" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		backend.Close()
		if e := result(t, "the end", f.last(1).ends); e != (End{Client, EOF}) {
			t.Errorf("ended by %v", e)
		}
	}
}

// blackhole is an address that lets a dial hang: the queue of a listener that accepts
// nobody takes no more than one.
func blackhole(t *testing.T) *Address {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	hole := NewAddress("tcp", localAddress(int32(fd)).String())
	filler, err := net.Dial("tcp", hole.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { filler.Close() })
	return hole
}

func TestADialIsGivenUpInTime(t *testing.T) {
	hole := blackhole(t)
	f := receive(t, Sockets{}, func() *opener { return &opener{steps: []Step{{To: hole, Timeout: 50 * time.Millisecond}}} })
	client := f.connect()
	o := f.last(1)
	if err := result(t, "the dial to fail", o.failed); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the dial failed with %v", err)
	}
	if e := result(t, "the end", o.ends); e != (End{Sluice, ConnectFailed}) {
		t.Errorf("ended by %v", e)
	}
	if _, err := client.Read(make([]byte, 1)); kind(err) != "reset" {
		t.Errorf("the client saw %v", err)
	}
}

func TestADialIsCutShortByAKill(t *testing.T) {
	hole := blackhole(t)
	f := receive(t, Sockets{}, func() *opener { return &opener{steps: []Step{{To: hole}}} })
	f.connect()
	o := f.last(1)
	eventually(t, "the first step", o.opened.Load)
	f.e.Kill(o.Session, killed)
	if e := result(t, "the end", o.ends); e != killed || o.dialled.Load() {
		t.Errorf("ended by %v", e)
	}
}

func TestASessionMayLeaveAndComeBack(t *testing.T) {
	ln, _ := listener(t)
	for name, make := range map[string]func() *opener{
		"when accepted":     func() *opener { return &opener{leave: true} },
		"instead of a dial": func() *opener { return &opener{steps: []Step{{Leave: true}}} },
	} {
		t.Run(name, func(t *testing.T) {
			f := receive(t, Sockets{}, make)
			client := f.connect()
			session := f.last(1)
			session.Ends = &Ends{Client: result(t, "the client to leave", session.left)}
			dialled, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			backend := accepted(t, ln)
			session.Backend = dialled.(Conn)
			f.e.Start(session.Session)
			io.WriteString(client, "x")
			client.CloseWrite()
			if got, err := io.ReadAll(backend); string(got) != "x" || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
			backend.Close()
			if e := result(t, "the end", session.ends); e != (End{Client, EOF}) {
				t.Errorf("ended by %v", e)
			}
		})
	}
}

func TestClientsAreTurnedAwayWithAReset(t *testing.T) {
	f := receive(t, Sockets{}, nil)
	f.expectTurnedAway()
}

func TestAClosedListeningAcceptsNobodyAndItsPlaceIsUsedAgain(t *testing.T) {
	f := receive(t, Sockets{}, nil)
	for range 3 {
		f.listening.Close()
		f.listening.Close()
		if c, err := net.Dial("tcp", f.address); err == nil {
			c.Close()
			t.Fatal("somebody listens still")
		}
		f.listen(Sockets{})
		f.expectTurnedAway()
	}
	if len(f.e.doors) != 1 {
		t.Errorf("%d places", len(f.e.doors))
	}
}

func TestOnlyListeningStreamSocketsAreAcceptedFrom(t *testing.T) {
	e := newLoops(t, LoopsConfig{Loops: 1})
	a, _ := pair(t, "tcp")
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	multipath, err := net.Listen("tcp", "127.0.0.1:0") // unless the system has none
	if err != nil {
		t.Fatal(err)
	}
	defer multipath.Close()
	refused := map[string]syscall.Conn{"a connection": a, "datagrams": u.(*net.UDPConn)}
	if multi, err := sockoptOf(multipath.(*net.TCPListener), unix.SO_PROTOCOL); err == nil && multi != unix.IPPROTO_TCP {
		refused["multipath TCP"] = multipath.(*net.TCPListener)
	}
	for name, c := range refused {
		if _, err := e.Listen(c, Sockets{}, &front{t: t}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func sockoptOf(c syscall.Conn, option int) (value int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option) })
	return value, errors.Join(failed, err)
}

// Both sockets have the options from the first byte on, also that of a client who came
// before the engine.
func TestSocketsHaveTheirOptions(t *testing.T) {
	ln, to := listener(t)
	want := Sockets{KeepAlive: 16500 * time.Millisecond, Probes: 3, User: 1500 * time.Millisecond}
	f := &front{t: t, e: newLoops(t, LoopsConfig{Loops: 1}), opener: func() *opener { return &opener{steps: []Step{{To: to, Sockets: want}}} }}
	early := freePort(t)
	f.address = early.Addr().String()
	f.connect()
	var err error
	if f.listening, err = f.e.Listen(early, want, f); err != nil {
		t.Fatal(err)
	}
	early.Close()
	defer f.listening.Close()
	for n := range 2 {
		if n > 0 {
			f.connect()
		}
		accepted(t, ln)
		o := f.last(n + 1)
		eventually(t, "the relay", o.dialled.Load)
		for d, leg := range o.legs {
			for _, c := range []struct{ level, option, want int }{
				{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
				{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
				{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 17},
				{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 17},
				{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
				{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 1500},
			} {
				if got, err := unix.GetsockoptInt(int(leg.fd), c.level, c.option); got != c.want || err != nil {
					t.Errorf("client %d, %v: option %d is %d, %v", n, Direction(d), c.option, got, err)
				}
			}
		}
	}
	if len(f.notSet) != 0 {
		t.Errorf("not set: %v", f.notSet)
	}
}

// Where the system paces, sessions on loopback ask for what does not.
func TestLoopbackIsNotPaced(t *testing.T) {
	usual, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSpace(string(usual))
	if paces() != strings.HasPrefix(own, "bbr") {
		t.Errorf("%s paces: %v", own, paces())
	}
	for paced, want := range map[bool]string{true: unpacedControl, false: own} {
		ln, to := listener(t)
		f := &front{t: t, e: newLoops(t, LoopsConfig{Loops: 1}), opener: func() *opener { return &opener{steps: []Step{{To: to}}} }}
		f.e.paced = paced
		f.listen(Sockets{})
		f.connect()
		accepted(t, ln)
		o := f.last(1)
		eventually(t, "the relay", o.dialled.Load)
		for d, leg := range o.legs {
			if got, err := unix.GetsockoptString(int(leg.fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION); got != want || err != nil {
				t.Errorf("the system paces: %v, %v: %s, %v; want %s", paced, Direction(d), got, err, want)
			}
		}
		f.listening.Close()
	}
}

func TestAnOptionThatIsRefusedIsSaid(t *testing.T) {
	f := receive(t, Sockets{KeepAlive: 40000 * time.Second, Probes: 1}, nil)
	if len(f.notSet) != 1 {
		t.Errorf("not set: %v", f.notSet)
	}
}

func TestSessionsThatAreAcceptedAreSpreadEvenly(t *testing.T) {
	const sessions = 60
	ln, to := listener(t)
	f := receive(t, Sockets{}, func() *opener { return &opener{steps: []Step{{To: to}}} })
	for range sessions {
		f.connect()
		accepted(t, ln)
	}
	a, b := f.e.loops[0].sessions.Load(), f.e.loops[1].sessions.Load()
	if a+b != sessions || max(a, b)-min(a, b) > 3+sessions/8 { // the newest is counted by now
		t.Errorf("%d and %d sessions", a, b)
	}
}

// A connection that meets itself is rare: the system has to choose the very port. Here
// it is made to.
func TestADialThatMeetsItselfIsNoBackend(t *testing.T) {
	fd, errno := newSocket(unix.AF_INET)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer closeNow(fd, true)
	if err := unix.Bind(int(fd), &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	own := NewAddress("tcp", localAddress(fd).String())
	if errno := connect(fd, &own.raw); errno != 0 && errno != unix.EINPROGRESS {
		t.Fatal(errno)
	}
	eventually(t, "the connection", func() bool { var peer rawAddress; return peerOf(fd, &peer) == 0 })
	if !metItself(fd, own.ip.Port()) {
		t.Error("not noticed")
	}
	a, _ := pair(t, "tcp")
	control(a, func(d descriptor) {
		if metItself(int32(d.fd), localAddress(int32(d.fd)).Port()) {
			t.Error("another was taken for it")
		}
	})
}
