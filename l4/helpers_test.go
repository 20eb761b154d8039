package l4

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// patience bounds everything a test waits for.
const patience = 30 * time.Second

// rig is a service under test, its log and its far ends.
type rig struct {
	*Service
	t        testing.TB
	address  string // of its listener
	backends []*Backend
	log      *journal
}

// serve starts a service on a loopback port. Without a name it is called "svc";
// without a SessionLog it logs every session. When the test is over nothing of it
// may be left.
func serve(t testing.TB, cfg Config, backends ...BackendConfig) *rig {
	t.Helper()
	r := assemble(t, withEngine(t, cfg), backends...)
	r.address = r.listen("127.0.0.1:0").String()
	return r
}

// assemble is serve without a listener.
func assemble(t testing.TB, cfg Config, backends ...BackendConfig) *rig {
	t.Helper()
	r := &rig{t: t, log: &journal{}}
	if cfg.Name == "" {
		cfg.Name = "svc"
	}
	if cfg.SessionLog == "" {
		cfg.SessionLog = LogAll
	}
	if cfg.Log == nil {
		cfg.Log = r.log.logger()
	}
	var err error
	if r.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		within(t, "Close to return", r.Close)
		r.expectNothingHeld()
	})
	if r.backends, err = r.Pool().Add(backends...); err != nil {
		t.Fatal(err)
	}
	return r
}

// listen serves on one address more.
func (r *rig) listen(address string) net.Addr {
	r.t.Helper()
	ln, err := Listen(context.Background(), address)
	if err != nil {
		r.t.Fatal(err)
	}
	served := async(func() error { return r.Serve(ln) })
	r.t.Cleanup(func() {
		r.t.Helper()
		r.stopListening()
		if err := result(r.t, "Serve to return", served); !errors.Is(err, ErrServiceClosed) {
			r.t.Errorf("Serve returned %v", err)
		}
	})
	return ln.Addr()
}

// expectNothingHeld checks that every reservation was given back.
func (r *rig) expectNothingHeld() {
	r.t.Helper()
	if n := r.Stats().Active; n != 0 {
		r.t.Errorf("%d sessions of the service are left", n)
	}
	for _, b := range r.Backends() {
		if b.Sessions != 0 {
			r.t.Errorf("%d sessions of backend %s are left", b.Sessions, b.Name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions.n != 0 || len(r.listeners) != 0 || len(r.sources.n) != 0 {
		r.t.Errorf("left: %d records, %d listeners, %d sources", r.sessions.n, len(r.listeners), len(r.sources.n))
	}
	if d := r.budget; d != nil && d.used.Load() != 0 {
		r.t.Errorf("%d descriptors are left in use", d.used.Load())
	}
}

// connect opens a client's connection to the service.
func (r *rig) connect() relay.Conn { return r.connectFrom("") }

// connectFrom is connect from a loopback address, such as 127.0.0.2.
func (r *rig) connectFrom(source string) relay.Conn {
	r.t.Helper()
	return dialTest(r.t, "tcp", r.address, source)
}

func dialer(source string) *net.Dialer {
	d := &net.Dialer{Timeout: patience}
	if source != "" {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(source), 0))
	}
	return d
}

func dialTest(t testing.TB, network, address, source string) relay.Conn {
	t.Helper()
	c, err := dialer(source).Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { c.Close() })
	return c.(relay.Conn)
}

// expectTurnedAway checks that a client gets a reset and nothing else. It may come so
// early that the connect fails of it.
func (r *rig) expectTurnedAway() {
	r.t.Helper()
	r.expectTurnedAwayFrom("")
}

func (r *rig) expectTurnedAwayFrom(source string) {
	r.t.Helper()
	c, err := dialer(source).Dial("tcp", r.address)
	if err != nil {
		if kind(err) != "reset" {
			r.t.Error(err)
		}
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	expectReset(r.t, c)
}

// ended returns how many clients ended so.
func (r *rig) ended(why relay.Why) int64 { return r.Stats().Ended[why.String()] }

// awaitEnded waits until so many clients ended so.
func (r *rig) awaitEnded(why relay.Why, n int64) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d to end by %s", n, why), func() bool { return r.ended(why) >= n })
	if got := r.ended(why); got != n {
		r.t.Errorf("%d ended by %s, want %d", got, why, n)
	}
}

// awaitActive waits until exactly n sessions are held.
func (r *rig) awaitActive(n int64) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d active sessions", n), func() bool { return r.Stats().Active == n })
}

// awaitRelayed waits until the relay has n sessions.
func (r *rig) awaitRelayed(n int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d relayed sessions", n), func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		relayed := 0
		for sess := range r.sessions.all {
			if sess.relaying() != nil {
				relayed++
			}
		}
		return relayed == n
	})
}

// within fails the test if f takes longer than patience.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	result(t, what, async(func() bool { f(); return true }))
}

func async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

func result[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// eventually polls until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-tick.C
	}
}

// parallel runs f for 0 to n-1 at one time and returns when all have ended.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// kind names the end that an error stands for.
func kind(err error) string {
	switch {
	case err == nil, err == io.EOF:
		return "eof"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	}
	return err.Error()
}

// drain reads to the end and returns what came and how it ended.
func drain(c io.Reader) (got, end string) {
	b, err := io.ReadAll(c)
	return string(b), kind(err)
}

func expectDrain(t testing.TB, c io.Reader, want, wantEnd string) {
	t.Helper()
	if got, end := drain(c); got != want || end != wantEnd {
		t.Errorf("got %q and %s, want %q and %s", got, end, want, wantEnd)
	}
}

// expectReset checks that the client was sent away without a byte.
func expectReset(t testing.TB, c io.Reader) {
	t.Helper()
	expectDrain(t, c, "", "reset")
}

func expectRead(t testing.TB, c io.Reader, want string) {
	t.Helper()
	if got := read(t, c, len(want)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func read(t testing.TB, c io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if n, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("%v after %q", err, b[:n])
	}
	return string(b)
}

func send(t testing.TB, c io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// expectEcho checks that c leads to an echo.
func expectEcho(t testing.TB, c io.ReadWriter, s string) {
	t.Helper()
	send(t, c, s)
	expectRead(t, c, s)
}
