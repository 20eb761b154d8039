package l4

import (
	"context"
	"log/slog"
	"slices"
	"testing"

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

// Of clients turned away before a backend is picked, one a second is logged for each
// reason.
func TestClientsTurnedAwayAreLoggedOnceASecond(t *testing.T) {
	r := assemble(t, Config{SessionLog: LogErrors})
	say := func(n int, why relay.Why, attempts int) {
		for range n {
			sess := &Session{svc: r.Service, peer: "unix", attempts: attempts}
			sess.log(relay.End{Who: relay.Sluice, Why: why})
		}
	}
	suppressed := func() (all []string) {
		for _, l := range r.log.of("session") {
			all = append(all, l["end.why"]+" "+l["suppressed"])
		}
		r.log.said()
		return all
	}
	say(5, relay.Denied, 0)
	say(3, relay.NoBackend, 0)
	if got := suppressed(); !slices.Equal(got, []string{"denied ", "no-backend "}) {
		t.Errorf("logged %q", got)
	}
	say(2, relay.ConnectFailed, 1) // a backend was picked: each is logged
	if got := suppressed(); !slices.Equal(got, []string{"connect-failed ", "connect-failed "}) {
		t.Errorf("logged %q", got)
	}
	r.turned[relay.Denied].next.Store(0) // a second later
	say(2, relay.Denied, 0)
	if got := suppressed(); !slices.Equal(got, []string{"denied 4"}) {
		t.Errorf("logged %q", got)
	}
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
