package l4

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

func TestWhichSessionsAreLogged(t *testing.T) {
	for _, c := range []struct {
		mode SessionLog
		want []string
	}{
		{LogAll, []string{"connect-failed", "denied", "denied", "denied", "eof", "reset"}},
		{LogErrors, []string{"connect-failed", "denied", "reset"}},
		{LogOff, nil},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			r := serve(t, Config{SessionLog: c.mode, Deny: prefixes(t, "127.0.0.2/32")}, echoes(t, 1)...)
			orderly := r.connect()
			orderly.CloseWrite()
			expectDrain(t, orderly, "", "eof")
			reset := r.connect()
			expectEcho(t, reset, "x")
			abort(reset)
			for range 3 {
				r.expectTurnedAwayFrom("127.0.0.2")
			}
			r.awaitEnded(relay.Denied, 3)
			r.awaitActive(0)
			if _, err := r.Pool().Add(refusing(t, "dead")); err != nil {
				t.Fatal(err)
			}
			r.Pool().SetHealth(r.backends[0], Down, byProbe)
			r.expectTurnedAway()
			r.awaitEnded(relay.ConnectFailed, 1)
			within(t, "Close to return", r.Close)
			var got []string
			for _, l := range r.log.of("session") {
				got = append(got, l["end.why"])
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("logged %v, want %v", got, c.want)
			}
		})
	}
}

// C91
func TestASessionsLineTellsWhatItMoved(t *testing.T) {
	r := serve(t, Config{}, backend(t, says("hello")).config("b"))
	c := r.connect()
	expectRead(t, c, "hello")
	send(t, c, "bye")
	c.CloseWrite()
	expectDrain(t, c, "", "eof")
	r.log.await(t, "session", 1)[0].expect(t, line{"msg": "session", "level": "INFO", "service": "svc", "client": c.LocalAddr().String(), "backend": "b",
		"attempts": "1", "duration": "*", "bytes_to_backend": "3", "bytes_to_client": "5", "end.who": "client", "end.why": "eof"})
}

// Of clients turned away before a backend is picked, the first is logged for each
// reason, and the others as a number when the second is over.
func TestClientsTurnedAwayAreLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := assemble(t, Config{SessionLog: LogErrors})
		say := func(n int, why relay.Why, attempts int) {
			for range n {
				sess := &Session{svc: r.Service, cfg: r.cfg(), attempts: attempts}
				sess.log(relay.End{Who: relay.Sluice, Why: why})
			}
		}
		expect := func(when string, want ...string) {
			t.Helper()
			var got []string
			for _, l := range append(r.log.of("session"), r.log.of("clients turned away")...) {
				got = append(got, l["end.why"]+l["clients"])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: logged %q, want %q", when, got, want)
			}
			r.log.said()
		}
		say(5, relay.Denied, 0)
		say(3, relay.NoBackend, 0)
		expect("at once", "denied", "no-backend")
		say(2, relay.ConnectFailed, 1) // a backend was picked: each is logged
		expect("with an attempt", "connect-failed", "connect-failed")
		time.Sleep(throttlePeriod)
		synctest.Wait()
		got := r.log.of("clients turned away")
		slices.SortFunc(got, func(a, b line) int { return strings.Compare(a["end.why"], b["end.why"]) })
		if len(got) != 2 || got[0]["clients"] != "4" || got[1]["clients"] != "2" || got[1]["end.who"] != "sluice" {
			t.Errorf("after a second: %v", got)
		}
		r.log.said()
		say(2, relay.Denied, 0)
		r.Close()
		expect("at the end", "denied2")
	})
}

// deafened is a handler that wants no Info.
type deafened struct{ *journal }

func (deafened) Enabled(_ context.Context, l slog.Level) bool { return l > slog.LevelInfo }

func TestALogThatWantsNoSessionsGetsNone(t *testing.T) {
	j := &journal{}
	r := serve(t, Config{Log: slog.New(deafened{j}), SessionLog: LogAll}, echoes(t, 1)...)
	expectEcho(t, r.connect(), "x")
	within(t, "Close to return", r.Close)
	if said := j.said(); len(said) != 0 {
		t.Errorf("logged %v", said)
	}
}
