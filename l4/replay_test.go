package l4

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

func replaying(bytes int) Config {
	return Config{Balance: picker.First, Connect: ConnectConfig{Replay: bytes}}
}

// dies reads n bytes, then resets the session.
func dies(n int) func(relay.Conn) {
	return func(c relay.Conn) {
		io.ReadFull(c, make([]byte, n))
		abort(c)
	}
}

// C81, and what replay adds to it.
func TestABackendThatDiesBeforeItsFirstByteCostsTheClientNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  func(relay.Conn)
		says   string
		replay int64
	}{
		{"reset at once, the client silent", func(c relay.Conn) { abort(c) }, "", 1},
		{"reset after the request", dies(5), "hello", 1},
		{"reset in the midst of the request", dies(2), "hello", 1},
		{"closed after the request", func(c relay.Conn) { read(t, c, 5); c.Close() }, "hello", 1},
		{"answered", func(c relay.Conn) { io.WriteString(c, "first") }, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			greet := func(c relay.Conn) {
				io.WriteString(c, "second")
				echo(c)
			}
			r := serve(t, replaying(100), backend(t, c.first).config("first"), backend(t, greet).config("second"))
			client := r.connect()
			send(t, client, c.says)
			if c.replay == 0 {
				expectRead(t, client, "first")
				return
			}
			expectRead(t, client, "second"+c.says)
			expectEcho(t, client, "more")
			client.CloseWrite()
			expectDrain(t, client, "", "eof")
			r.awaitEnded(relay.EOF, 1)
			b := r.Backends()
			if c.says == "" && b[0].Total == 0 {
				return // it was so quick that the dial failed
			}
			if b[1].Replays != c.replay || b[0].Total != 1 || b[0].Sessions != 0 {
				t.Errorf("%+v", b)
			}
			l := r.log.await(t, "session", 1)[0]
			if l["replayed"] != "1" || l["backend"] != "second" || l["attempts"] != "2" || l["bytes_to_backend"] != text9(c.says+"more") {
				t.Errorf("logged %v", l)
			}
		})
	}
}

// text9 is the length of a short text, as text.
func text9(s string) string { return string(rune('0' + len(s))) }

func TestNothingIsSaidTwiceAfterTheFirstByteOfAnAnswer(t *testing.T) {
	var asked atomic.Int64
	r := serve(t, replaying(100), backend(t, func(c relay.Conn) {
		read(t, c, 5)
		io.WriteString(c, "a")
		read(t, c, 1) // the client has it
		abort(c)
	}).config("first"), backend(t, func(relay.Conn) { asked.Add(1) }).config("second"))
	c := r.connect()
	send(t, c, "hello")
	expectRead(t, c, "a")
	send(t, c, "!")
	expectReset(t, c)
	r.awaitEnded(relay.Reset, 1)
	if asked.Load() != 0 {
		t.Error("the other backend was asked too")
	}
}

func TestMoreThanIsKeptIsNotSaidAgain(t *testing.T) {
	const kept = 10
	for n, want := range map[int]string{kept: "served", kept + 1: "reset"} {
		r := serve(t, replaying(kept), backend(t, dies(n)).config("first"),
			backend(t, func(c relay.Conn) { read(t, c, n); io.WriteString(c, "served") }).config("second"))
		c := r.connect()
		send(t, c, strings.Repeat("x", n))
		got, end := drain(c)
		if got+end != map[string]string{"served": "servedeof", "reset": "reset"}[want] {
			t.Errorf("%d bytes: %q and %s, want %s", n, got, end, want)
		}
	}
}

// All that passes before the hand-over arrives, in both directions, whatever the size.
func TestSessionsWithReplayLoseNoByte(t *testing.T) {
	r := serve(t, replaying(1<<10), backend(t, dies(1)).config("first"), backend(t, echo).config("second"))
	for _, n := range []int{1, 1 << 10, 1<<10 + 1, 1 << 20} {
		r.Pool().SetHealth(r.backends[0], map[bool]Health{true: Up, false: Down}[n <= 1<<10], byProbe)
		c := r.connect()
		go func() {
			io.WriteString(c, text(n))
			c.CloseWrite()
		}()
		if got, end := drain(c); got != text(n) || end != "eof" {
			t.Errorf("%d bytes of %d, then %s", len(got), n, end)
		}
	}
}

// An end in order that follows the client's own is an answer of no bytes.
func TestAnEndAfterTheClientsOwnIsNotAskedAgain(t *testing.T) {
	var asked atomic.Int64
	quiet := func(c relay.Conn) { io.Copy(io.Discard, c) }
	r := serve(t, replaying(100), backend(t, quiet).config("first"), backend(t, func(relay.Conn) { asked.Add(1) }).config("second"))
	c := r.connect()
	send(t, c, "log this")
	c.CloseWrite()
	expectDrain(t, c, "", "eof")
	r.awaitEnded(relay.EOF, 1)
	if asked.Load() != 0 {
		t.Error("the other backend was asked too")
	}
}

func TestAClientThatLeavesBeforeTheFirstByteEndsItsSession(t *testing.T) {
	for name, leave := range map[string]func(relay.Conn){"close": func(c relay.Conn) { c.Close() }, "reset": func(c relay.Conn) { abort(c) }} {
		ended := make(chan string, 1)
		r := serve(t, replaying(100), backend(t, func(c relay.Conn) {
			_, end := drain(c)
			ended <- end
		}).config("b1"))
		c := r.connect()
		send(t, c, "hello")
		r.awaitConnected(1)
		leave(c)
		if end := result(t, "the backend to hear of it", ended); end != map[string]string{"close": "eof", "reset": "reset"}[name] {
			t.Errorf("%s: the backend saw %s", name, end)
		}
		r.awaitActive(0)
	}
}

func (r *rig) awaitConnected(n int64) {
	r.t.Helper()
	eventually(r.t, "sessions to be connected", func() bool { return r.Backends()[0].Total == n })
}

func TestIdleTimeCountsBeforeTheFirstByteToo(t *testing.T) {
	cfg := replaying(100)
	cfg.Limits.Idle = 50 * time.Millisecond
	r := serve(t, cfg, backend(t, mute).config("b1"))
	expectReset(t, r.connect())
	r.awaitEnded(relay.Idle, 1)
}

func TestASessionWaitingForTheFirstByteEndsWithTheLastBackend(t *testing.T) {
	cfg := replaying(100)
	cfg.OnDown = OnDownClose
	r := serve(t, cfg, backend(t, mute).config("b1"))
	c := r.connect()
	send(t, c, "hello")
	r.awaitConnected(1)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	expectReset(t, c)
	r.awaitEnded(relay.ConnectFailed, 1)
}

// The first words wait for the backend that comes back.
func TestReplayAndHoldOutlastARestart(t *testing.T) {
	f := backend(t, dies(5))
	cfg := replaying(100)
	cfg.Connect.Hold = patience
	r := serve(t, cfg, f.config("b1"))
	c := r.connect()
	send(t, c, "hello")
	r.awaitHeld(1)
	f.stop()
	other := r.connect() // its dial shows that the backend has gone
	r.awaitHeld(2)
	backendOn(t, "tcp", f.address, echo)
	expectRead(t, c, "hello")
	expectEcho(t, other, "x")
}

// A backend that is frozen accepts, and never answers: when its probes notice, its clients
// go on elsewhere, whatever on_down says of sessions.
func TestAFirstFlightIsDivertedFromABackendThatGoesDown(t *testing.T) {
	for _, onDown := range []OnDown{OnDownKeep, OnDownClose} {
		cfg := replaying(100)
		cfg.OnDown = onDown
		r := serve(t, cfg, backend(t, mute).config("frozen"), backend(t, echo).config("b2"))
		c := r.connect()
		send(t, c, "hello")
		r.awaitConnected(1)
		r.Pool().SetHealth(r.backends[0], Down, byProbe)
		expectRead(t, c, "hello")
		if b := r.Backends(); b[1].Replays != 1 {
			t.Errorf("%s: %+v", onDown, b)
		}
	}
}

// A client that has said all it has to say and ended its direction waits for its answer: it
// has not left.
func TestAQuestionWhoseBackendDiesIsHeldThoughItsClientHasEnded(t *testing.T) {
	f := backend(t, dies(5))
	cfg := replaying(100)
	cfg.Connect.Hold = patience
	cfg.Limits.Idle = 200 * time.Millisecond // which does not count while it waits
	r := serve(t, cfg, f.config("b1"))
	c := r.connect()
	send(t, c, "hello")
	c.CloseWrite()
	r.awaitHeld(1)
	f.stop()
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	<-time.After(300 * time.Millisecond)
	backendOn(t, "tcp", f.address, echo)
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	expectDrain(t, c, "hello", "eof")
}

// However long a client may wait, a backend that ends its session gets its words once. It
// is dialled once more, to learn that it is there.
func TestABackendThatHasHeardThemIsNotToldTheSameWordsAgain(t *testing.T) {
	var asked atomic.Int64
	cfg := replaying(100)
	cfg.Connect.Hold = 500 * time.Millisecond
	f := backend(t, func(c relay.Conn) {
		if n, _ := io.ReadFull(c, make([]byte, 5)); n > 0 {
			asked.Add(1)
		}
	})
	r := serve(t, cfg, f.config("b1"))
	heard := observe(r.backends[0])
	c := r.connect()
	send(t, c, "hello")
	expectReset(t, c)
	if asked.Load() != 1 || heard.atOnce.Load() != 0 {
		t.Errorf("asked %d times, blamed %d times", asked.Load(), heard.atOnce.Load())
	}
	if n := f.accepted.Load(); n > 2 {
		t.Errorf("it was connected to %d times", n)
	}
}

// With nowhere else to go a question stays with the backend that its check calls down.
func TestAQuestionIsNotDivertedFromTheLastBackend(t *testing.T) {
	answers := make(chan struct{})
	r := serve(t, replaying(100), backend(t, func(c relay.Conn) {
		read(t, c, 5)
		<-answers
		io.WriteString(c, "world")
	}).config("b1"))
	c := r.connect()
	send(t, c, "hello")
	r.awaitConnected(1)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	close(answers)
	expectDrain(t, c, "world", "eof")
}
