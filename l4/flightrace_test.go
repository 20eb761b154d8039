package l4

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// flap has verdicts on b alternate until the stop that is returned is called.
func (r *rig) flap(b *Backend) (stop func()) {
	end := make(chan struct{})
	flapped := async(func() bool {
		for h := Down; ; h = Up + Down - h {
			select {
			case <-end:
				r.Pool().SetHealth(b, Up, byProbe)
				return true
			default:
				r.Pool().SetHealth(b, h, byProbe)
			}
		}
	})
	return func() { close(end); <-flapped }
}

// A backend may be called down in the instant in which it answers.
func TestASessionThatWasAnsweredIsNotDiverted(t *testing.T) {
	r := serve(t, Config{Connect: ConnectConfig{Replay: 100}, SessionLog: LogOff}, echoes(t, 2)...)
	stop := r.flap(r.backends[0])
	defer stop()
	parallel(4, func(int) {
		for range 500 {
			c := r.connect()
			expectEcho(t, c, "hello")
			c.Close()
		}
	})
}

// Or in the one after it was connected, before its client has said anything.
func TestASessionIsDivertedFromItsConnectOn(t *testing.T) {
	for _, onDown := range []OnDown{OnDownKeep, OnDownClose} {
		cfg := replaying(100)
		cfg.OnDown, cfg.Balance = onDown, picker.First
		r := serve(t, cfg, backend(t, mute).config("frozen"), backend(t, echo).config("b2"))
		r.backends[0].Observe(&calls{hears: new(hears), dialOK: func() {
			r.Pool().SetHealth(r.backends[0], Down, byProbe)
			r.closings.Wait()
		}})
		expectEcho(t, r.connect(), "hello")
	}
}

// A backend answers, and falls before anybody has looked at the answer. The closing leaves the
// session to the flight then, which cannot go elsewhere any more: with on_down close it must
// end, and not go on with a backend whose sessions have been closed.
func TestAnAnswerInTheInstantOfAFallLeavesNoSessionBehind(t *testing.T) {
	cfg := replaying(100)
	cfg.OnDown = OnDownClose
	answer := make(chan struct{})
	r := serve(t, cfg, backend(t, func(c relay.Conn) {
		read(t, c, 5)
		<-answer
		says("1")(c)
	}).config("b1"))
	c := r.connect()
	send(t, c, "hello")
	sess := r.only()
	eventually(t, "the flight", func() bool { return sess.servedBy(r.backends[0]) })
	sess.mu.Lock() // the flight cannot land
	close(answer)
	eventually(t, "the answer", func() bool { // it ends the wait for more words
		_, err := sess.relay.Backend.Write(nil)
		return errors.Is(err, os.ErrDeadlineExceeded)
	})
	sess.flight = diverted
	sess.heed()
	sess.mu.Unlock()
	expectReset(t, c)
	r.awaitEnded(relay.BackendDown, 1)
}

// only returns the one session there is.
func (r *rig) only() (sess *Session) {
	r.t.Helper()
	eventually(r.t, "a session", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for sess = range r.sessions.all {
		}
		return r.sessions.n == 1
	})
	return sess
}

// A client says more than is kept to a backend that reads nothing, and whose queue is full by
// then: it must not stay there either when that falls.
func TestAFlightThatIsStuckLeavesABackendThatFalls(t *testing.T) {
	const kept = 2 << 20 // more than the queue of a Unix socket takes
	cfg := replaying(kept)
	cfg.OnDown, cfg.Conflict = OnDownClose, ConflictKeep
	stop := make(chan struct{})
	defer close(stop)
	stuck := backendOn(t, "unix", socketDir(t)+"/s", func(relay.Conn) { <-stop })
	r := serve(t, cfg, stuck.config("b1"), backend(t, echo).config("b2"))
	r.Pool().SetHealth(r.backends[1], Down, byProbe)
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	c := r.connect()
	const said = kept + kept/4
	go io.WriteString(c, text(said))
	r.awaitConnected(1)
	<-time.After(50 * time.Millisecond)
	r.Pool().SetHealth(r.backends[1], Up, byProbe)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	expectRead(t, c, text(said))
	if b := r.Backends(); b[0].Sessions != 0 || b[1].Sessions != 1 {
		t.Errorf("%+v", b)
	}
}

// calls does something when a dial has succeeded.
type calls struct {
	*hears
	dialOK func()
}

func (c *calls) DialOK(time.Time) { c.dialOK() }

// With one backend, only a dial can tell that the one which got the words has been gone.
func TestWordsWaitForTheRestartOfTheOnlyBackend(t *testing.T) {
	heard, closed := make(chan struct{}), make(chan struct{})
	f := backend(t, func(c relay.Conn) {
		io.ReadFull(c, make([]byte, 5))
		close(heard)
		<-closed
		abort(c)
	})
	cfg := replaying(100)
	cfg.Connect.Hold = patience
	r := serve(t, cfg, f.config("b1"))
	c := r.connect()
	send(t, c, "hello")
	<-heard
	f.closer()
	close(closed)
	eventually(t, "a refused dial", func() bool { return r.dialFailures()["refused"] > 0 })
	f.stop()
	backendOn(t, "tcp", f.address, echo)
	expectRead(t, c, "hello")
}

// Everything at one time: verdicts that change, pauses, full and dead backends, hedges,
// words that come in pieces. Nobody notices, and nothing is left.
func TestClientsNoticeNothingWhateverHappensAtOneTime(t *testing.T) {
	const kept = 3000
	for _, hedge := range []time.Duration{0, time.Millisecond} {
		for _, half := range []bool{false, true} {
			t.Run(fmt.Sprintf("hedge=%v/half-close=%v", hedge, half), func(t *testing.T) {
				cfg := Config{SlowStart: 20 * time.Millisecond, SessionLog: LogOff,
					Connect: ConnectConfig{Replay: kept, Hold: patience, HedgeAfter: hedge, Timeout: patience}}
				small, heavy := backend(t, echo).config("small"), backend(t, echo).config("heavy")
				small.MaxConnections, heavy.MaxConnections, heavy.Weight = 5, 6, 256
				r := serve(t, cfg, small, heavy, backend(t, echo).config("third"), refusing(t, "dead"))
				stop := r.unrest()
				parallel(16, func(int) {
					for range 40 {
						r.speak(t, text(1+rand.IntN(kept)), half)
					}
				})
				stop()
				r.awaitActive(0)
				if n, full := r.room.n.Load(), r.room.full.Load(); n != 0 || full != 0 {
					t.Errorf("%d still wait, %d of them for a slot", n, full)
				}
			})
		}
	}
}

// unrest changes verdicts at random and pauses the service now and then.
func (r *rig) unrest() (stop func()) {
	end := make(chan struct{})
	over := async(func() bool {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-end:
				for _, b := range r.backends {
					r.Pool().SetHealth(b, Up, byProbe)
				}
				r.Resume()
				return true
			case <-tick.C:
				r.Pool().SetHealth(r.backends[rand.IntN(len(r.backends))], Health(rand.IntN(3)), byProbe)
				if i%20 == 0 {
					r.Pause(3 * time.Millisecond)
				}
			}
		}
	})
	return func() { close(end); <-over }
}

// speak says something in two pieces, and expects it back.
func (r *rig) speak(t *testing.T, said string, half bool) {
	c := r.connect()
	defer c.Close()
	go func() {
		k := rand.IntN(len(said) + 1)
		io.WriteString(c, said[:k])
		<-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond)
		io.WriteString(c, said[k:])
		if half {
			c.CloseWrite()
		}
	}()
	if half {
		expectDrain(t, c, said, "eof")
	} else {
		expectRead(t, c, said)
	}
}

// capricious reads a client's header and a part of its words, and then ends, resets, or
// answers with all of them as an echo does.
func capricious(most int) func(relay.Conn) {
	return func(c relay.Conn) {
		_, rest, err := readProxyHeader(c)
		if err != nil {
			return
		}
		switch rand.IntN(6) {
		case 0:
			return
		case 1:
			abort(c)
		case 2:
			io.CopyN(io.Discard, c, int64(rand.IntN(most)))
			abort(c)
		default:
			c.Write(rest)
			echo(c)
		}
	}
}

// PROXY headers in and out, Unix and TCP backends, hedges, verdicts that change, pauses, and
// backends that end sessions before their first byte, all at one time: each client must get
// back what it says whole and once, without a header.
func TestWordsComeBackOnceThroughHeadersAndSocketsOfEveryKind(t *testing.T) {
	const kept = 3000
	steady := func(c relay.Conn) {
		h, rest, err := readProxyHeader(c)
		switch {
		case err != nil: // a dial that was given up
			return
		case h.source != addresses4.source:
			t.Errorf("the header says %v", h)
		}
		c.Write(rest)
		echo(c)
	}
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) {
			cfg := Config{SessionLog: LogOff, Proxy: ProxyConfig{Send: version, Accept: trustLoopback.Accept, AcceptTimeout: patience},
				Connect: ConnectConfig{Replay: kept, Hold: patience, HedgeAfter: time.Millisecond, Timeout: patience}}
			dir := socketDir(t)
			r := serve(t, cfg,
				backendOn(t, "unix", dir+"/1", capricious(kept)).config("u1"), backendOn(t, "unix", dir+"/2", steady).config("u2"),
				backend(t, capricious(kept)).config("t1"), backend(t, steady).config("t2"))
			stop := r.unrest()
			parallel(8, func(i int) {
				for n := range 30 {
					said := fmt.Appendf(nil, "%d.%d.", i, n)
					said = append(said, bytes.Repeat([]byte{byte('a' + (i+n)%26)}, rand.IntN(kept-len(said)))...)
					r.speakInPieces(t, said, n%2 == 0)
				}
			})
			stop()
			r.awaitActive(0)
		})
	}
}

// speakInPieces says who it is and then something in many pieces, and expects that back.
func (r *rig) speakInPieces(t *testing.T, said []byte, half bool) {
	c := r.connect()
	defer c.Close()
	spoken := async(func() bool {
		for all := append([]byte(line4), said...); len(all) > 0; {
			k := 1 + rand.IntN(len(all))
			c.Write(all[:k])
			all = all[k:]
			if rand.IntN(3) == 0 {
				<-time.After(time.Duration(rand.IntN(1500)) * time.Microsecond)
			}
		}
		if half {
			c.CloseWrite()
		}
		return true
	})
	defer result(t, "the client to have said all", spoken)
	got := make([]byte, len(said))
	n, err := io.ReadFull(c, got)
	switch {
	case half && n == 0 && err == io.EOF: // an end after its own is an answer of no bytes
	case err != nil || !bytes.Equal(got, said):
		t.Errorf("%d of %d bytes, %v", n, len(said), err)
	case half:
		expectDrain(t, c, "", "eof")
	}
}
