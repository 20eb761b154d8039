package relay

import (
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

// A script is what two ends do, one byte an act: its lowest bit says who, the next
// three what. Both read all the time, but for pauses that an act may begin with. It
// ends with a reset, or else with the end of both directions.
const (
	actSettle    = 5 // wait until the other end has read everything
	actHalfClose = 6
	actReset     = 7

	withPause = 1 << 4 // the end that acts reads slowly for a while
	inHaste   = 1 << 5 // a reset comes before the other end has read everything
)

// pausedReads is for how many reads a pause makes an end slow.
const pausedReads = 20

var actSizes = [...]int64{1, 700, 4096, 60_000, 300_000} // what the acts below actSettle write

// outcome is what each end saw. An end that reset saw nothing; how much came before a
// reset in haste is left open.
type outcome struct{ client, backend seen }

// actor is one end of a script.
type actor struct {
	conn   Conn
	flow   flow
	sent   int64
	closed bool
	read   atomic.Int64
	slow   atomic.Int32 // reads still to be slow
	saw    <-chan seen
}

// Read counts what the other end sent and this one has.
func (a *actor) Read(b []byte) (int, error) {
	if a.slow.Add(-1) >= 0 {
		paced(time.Millisecond, 1, func() {})
		b = b[:min(len(b), 5000)]
	}
	n, err := a.conn.Read(b)
	a.read.Add(int64(n))
	return n, err
}

var _ io.Reader = (*actor)(nil)

func (a *actor) halfClose() {
	a.closed = true
	a.conn.CloseWrite()
}

// play lets two ends act by the script.
func play(t *testing.T, script []byte, client, backend Conn) (o outcome) {
	t.Helper()
	actors := [2]*actor{{conn: client, flow: up}, {conn: backend, flow: down}}
	for i, a := range actors {
		other := actors[1-i]
		a.saw = async(func() seen { return other.flow.drain(a, 50_000) })
	}
	settled := func(a, other *actor) {
		eventually(t, "an end to read", func() bool { return other.read.Load() == a.sent })
	}
	for _, b := range script {
		a, other := actors[b&1], actors[1-b&1]
		if b&withPause != 0 {
			a.slow.Store(pausedReads)
		}
		switch act := b >> 1 & 7; act {
		case actReset:
			if b&inHaste == 0 {
				settled(a, other)
			}
			resetClose(a.conn)
			result(t, "the end that reset", a.saw)
			survivor := result(t, "the other end", other.saw)
			if b&inHaste != 0 && survivor.n <= a.sent {
				survivor.n = 0
				if a.closed && survivor.end == "eof" {
					survivor.end = "reset" // which of the two overtakes the other is open as well
				}
			}
			if b&1 == 1 {
				return outcome{client: survivor}
			}
			return outcome{backend: survivor}
		case actSettle:
			settled(a, other)
		case actHalfClose:
			if !a.closed {
				a.halfClose()
			}
		default:
			if a.closed {
				continue
			}
			if err := a.flow.send(a.conn, a.sent, actSizes[act], 64<<10); err != nil {
				t.Fatal(err)
			}
			a.sent += actSizes[act]
		}
	}
	for _, a := range actors {
		a.halfClose()
	}
	return outcome{result(t, "the client", actors[0].saw), result(t, "the backend", actors[1].saw)}
}

// playOn plays the script over a session on an engine.
func playOn(t *testing.T, script []byte, c engineCase) outcome {
	t.Helper()
	e := c.make()
	defer within(t, "Close to return", e.Close)
	l := start(t, e, setup{})
	o := play(t, script, l.client, l.backend)
	l.client.Close()
	l.backend.Close()
	l.wait(t)
	return o
}

// playBoth plays the script over one connection and over a relayed session, and
// wants the same of both.
func playBoth(t *testing.T, script []byte) {
	t.Helper()
	a, b := pair(t, "tcp")
	want := play(t, script, a, b)
	for _, c := range engines() {
		if got := playOn(t, script, c); got != want {
			t.Errorf("%s: script %x: saw %+v, over one connection %+v", c.name, script, got, want)
		}
	}
}

func TestASessionLooksLikeOneConnection(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		script := make([]byte, 1+random.IntN(20))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playBoth(t, script)
	}
}

func FuzzScript(f *testing.F) {
	addScripts(f)
	f.Fuzz(func(t *testing.T, script []byte) {
		playBoth(t, script[:min(len(script), 64)])
	})
}

func addScripts(f *testing.F) {
	act := func(who, what byte) byte { return what<<1 | who }
	for _, script := range [][]byte{
		{},
		{act(0, 0), act(1, 0)},
		{act(0, 1), act(0, actHalfClose), act(1, 4), act(1, 4)},
		{act(1, 4), act(1, actHalfClose), act(0, 4), act(0, 2)},
		{act(1, 2), act(1, actReset)},
		{act(0, 4), act(1, 1), act(1, actReset)},
		{act(0, actHalfClose), act(1, 3), act(1, actReset)},
		{act(1, actHalfClose), act(0, 4), act(1, actReset)},
		{act(1, 4), act(1, 4), act(1, actHalfClose), act(0, 3), act(0, actHalfClose), act(0, actReset)},
		{act(0, 4), act(1, 4), act(0, actSettle), act(1, actSettle), act(0, actReset)},
		{act(1, 0) | withPause, act(0, 4), act(0, 4), act(0, 4), act(0, actReset)},
		{act(1, 0) | withPause, act(0, 4), act(0, 4), act(0, actReset) | inHaste},
		{act(0, 4), act(1, 4), act(1, actReset) | inHaste},
		{act(0, 3) | withPause, act(1, 4), act(1, actHalfClose), act(0, actHalfClose)},
	} {
		f.Add(script)
	}
}
