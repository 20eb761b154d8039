package l4

import (
	"fmt"
	"io"
	"math/rand/v2"
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
