package l4

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// fake is a backend that a test plays.
type fake struct {
	address  string
	accepted atomic.Int64
	now      atomic.Int64 // connections open
	most     atomic.Int64 // that were open at one time
	wg       sync.WaitGroup

	mu     sync.Mutex
	over   bool
	conns  map[net.Conn]struct{}
	closer func()
}

// backend starts one that gives every connection to handle and closes it afterwards.
func backend(t testing.TB, handle func(relay.Conn)) *fake {
	t.Helper()
	return backendOn(t, "tcp", "127.0.0.1:0", handle)
}

func backendOn(t testing.TB, network, address string, handle func(relay.Conn)) *fake {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{address: ln.Addr().String(), conns: make(map[net.Conn]struct{})}
	f.closer = func() { ln.Close() }
	if network == "unix" {
		f.address = "unix:" + address
	}
	f.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f.wg.Go(func() { f.serve(c.(relay.Conn), handle) })
		}
	})
	t.Cleanup(func() { within(t, "a backend to end", f.stop) })
	return f
}

// stop closes the listener and every connection.
func (f *fake) stop() {
	f.closer()
	f.mu.Lock()
	f.over = true
	for c := range f.conns {
		c.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *fake) serve(c relay.Conn, handle func(relay.Conn)) {
	defer c.Close()
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		return
	}
	f.conns[c] = struct{}{}
	f.mu.Unlock()
	f.accepted.Add(1)
	for n, most := f.now.Add(1), f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
	}
	c.SetDeadline(time.Now().Add(patience))
	handle(c)
	f.now.Add(-1)
	f.mu.Lock()
	delete(f.conns, c)
	f.mu.Unlock()
}

// config is the backend with weight 1.
func (f *fake) config(name string) BackendConfig {
	return BackendConfig{Address: f.address, Name: name, Weight: 1}
}

// echo sends everything back, then an end of stream.
func echo(c relay.Conn) {
	io.Copy(c, c)
	c.CloseWrite()
}

// says greets with s, then waits for the client's end.
func says(s string) func(relay.Conn) {
	return func(c relay.Conn) {
		io.WriteString(c, s)
		io.Copy(io.Discard, c)
	}
}

// mute says nothing and waits for the client's end.
func mute(c relay.Conn) { io.Copy(io.Discard, c) }

// resets aborts at once.
func resets(c relay.Conn) { abort(c) }

// echoes starts n echoing backends named b1, b2 and so on.
func echoes(t testing.TB, n int) []BackendConfig {
	t.Helper()
	return talkers(t, n, func(string) func(relay.Conn) { return echo })
}

// greeters starts n backends that greet with a byte: 1, 2 and so on.
func greeters(t testing.TB, n int) []BackendConfig {
	t.Helper()
	return talkers(t, n, says)
}

func talkers(t testing.TB, n int, handle func(digit string) func(relay.Conn)) []BackendConfig {
	t.Helper()
	all := make([]BackendConfig, n)
	for i := range all {
		digit := string(rune('1' + i))
		all[i] = backend(t, handle(digit)).config("b" + digit)
	}
	return all
}

// refusing returns a backend whose port nobody listens on, nor can: it is the local
// port of a connection.
func refusing(t testing.TB, name string) BackendConfig {
	t.Helper()
	f := backend(t, mute)
	c := dialTest(t, "tcp", f.address, "127.0.0.1") // bound, so that no dial is given its port
	return BackendConfig{Address: c.LocalAddr().String(), Name: name, Weight: 1}
}

// hears is an Observer that notes what it is told.
type hears struct {
	ok, answered, atOnce atomic.Int64
	mu                   sync.Mutex
	failed               []string
}

func (h *hears) DialOK(time.Time) { h.ok.Add(1) }
func (h *hears) Answered()        { h.answered.Add(1) }
func (h *hears) EndedAtOnce()     { h.atOnce.Add(1) }

func (h *hears) DialFailed(_ time.Time, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = append(h.failed, reason)
}

func (h *hears) failures() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.failed...)
}

// observe makes a new Observer hear of b.
func observe(b *Backend) *hears {
	h := new(hears)
	b.Observe(h)
	return h
}
