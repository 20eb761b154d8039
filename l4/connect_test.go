package l4

import (
	"net"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// dialFailures sums what the backends' dials failed of.
func (r *rig) dialFailures() map[string]int64 {
	sum := make(map[string]int64)
	for _, b := range r.Backends() {
		for reason, n := range b.DialFailures {
			sum[reason] += n
		}
	}
	return sum
}

// C79
func TestABackendThatRefusesCostsNoClientItsConnection(t *testing.T) {
	for _, policy := range picker.Policies() {
		t.Run(policy, func(t *testing.T) {
			r := serve(t, Config{Balance: policy}, append(echoes(t, 2), refusing(t, "dead"))...)
			for i := range 30 {
				c := r.connectFrom([]string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}[i%4])
				expectEcho(t, c, "x")
				c.Close()
			}
			r.awaitEnded(relay.EOF, 30)
			dead := r.Backends()[2]
			if dead.Total != 0 || dead.Retries != 0 && policy == picker.First {
				t.Errorf("%+v", dead)
			}
			if retries := r.Backends()[0].Retries + r.Backends()[1].Retries; retries != dead.DialFailures["refused"] {
				t.Errorf("%d refused, %d retries elsewhere", dead.DialFailures["refused"], retries)
			}
		})
	}
}

// C79
func TestEachBackendIsTriedOnceAndThenTheClientIsReset(t *testing.T) {
	for _, c := range []struct {
		name            string
		attempts, tried int
		outages         int
	}{
		{"all", 0, 3, 1},
		{"at most two", 2, 2, 0}, // the third may be usable: no outage
		{"more attempts than backends", 9, 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, Config{Balance: picker.First, Connect: ConnectConfig{Attempts: c.attempts}},
				refusing(t, "b1"), refusing(t, "b2"), refusing(t, "b3"))
			heard := []*hears{observe(r.backends[0]), observe(r.backends[1]), observe(r.backends[2])}
			const clients = 3
			for range clients {
				r.expectTurnedAway()
			}
			r.awaitEnded(relay.ConnectFailed, clients)
			last := []string{"b1", "b2", "b3"}[c.tried-1]
			for _, l := range r.log.await(t, "session", clients) {
				l.expect(t, line{"msg": "session", "level": "INFO", "service": "svc", "client": "*", "backend": last, "attempts": string(rune('0' + c.tried)),
					"duration": "*", "bytes_to_backend": "0", "bytes_to_client": "0", "end.who": "sluice", "end.why": "connect-failed",
					"error": last + ": connection refused", "tried": "*"})
			}
			for i, h := range heard {
				want := 0
				if i < c.tried {
					want = clients
				}
				if f := h.failures(); len(f) != want || want > 0 && f[0] != "connection refused" || h.ok.Load() != 0 {
					t.Errorf("b%d's observer heard %v", i+1, f)
				}
			}
			if n := len(r.log.of("no usable backend")); n != c.outages {
				t.Errorf("%d outages were logged, want %d", n, c.outages)
			}
		})
	}
}

func TestAnOutageByDialsEndsWithTheFirstThatSucceeds(t *testing.T) {
	r := serve(t, Config{Balance: picker.First}, refusing(t, "dead"))
	for range 2 {
		r.expectTurnedAway()
	}
	alive, err := r.Pool().Add(echoes(t, 1)...)
	if err != nil {
		t.Fatal(err)
	}
	expectEcho(t, r.connect(), "x")
	r.Pool().SetHealth(alive[0], Down, byProbe)
	r.expectTurnedAway()
	r.awaitEnded(relay.ConnectFailed, 3)
	if n := len(r.log.of("no usable backend")); n != 2 {
		t.Errorf("%d outages were logged, want 2", n)
	}
}

// C41
func TestWithoutAUsableBackendClientsAreResetAtOnce(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 2)...)
	for _, b := range r.backends {
		r.Pool().SetHealth(b, Down, byProbe)
	}
	for range 3 {
		r.expectTurnedAway()
	}
	r.awaitEnded(relay.NoBackend, 3)
	r.log.await(t, "session", 3)[0].expect(t, line{"msg": "session", "level": "INFO", "service": "svc", "client": "*", "backend": "", "attempts": "0",
		"duration": "*", "bytes_to_backend": "0", "bytes_to_client": "0", "end.who": "sluice", "end.why": "no-backend"})
	if n := len(r.log.of("no usable backend")); n != 1 {
		t.Errorf("%d outages were logged", n)
	}
}

// C81: the reset may be seen by the dial or by the relay.
func TestABackendThatResetsAtOnceIsReported(t *testing.T) {
	r := serve(t, Config{}, backend(t, resets).config("sick"))
	heard := observe(r.backends[0])
	for range 10 {
		r.expectTurnedAway()
	}
	r.log.await(t, "session", 10)
	if n, failed := heard.atOnce.Load(), heard.failures(); int(n)+len(failed) != 10 || heard.answered.Load() != 0 {
		t.Errorf("heard of %d ends at once and of %v", n, failed)
	}
	if f := r.dialFailures(); f["reset"] != r.ended(relay.ConnectFailed) {
		t.Errorf("dials failed of %v, sessions ended by %v", f, r.Stats().Ended)
	}
}

// C81
func TestNothingIsReplayedOnceABackendHasGotBytes(t *testing.T) {
	sick := backend(t, func(c relay.Conn) { read(t, c, 4); abort(c) })
	well := backend(t, echo)
	r := serve(t, Config{Balance: picker.First}, sick.config("sick"), well.config("well"))
	c := r.connect()
	send(t, c, "once")
	expectReset(t, c)
	l := r.log.await(t, "session", 1)[0]
	if l["end.who"] != "backend" || l["end.why"] != "reset" || l["backend"] != "sick" || l["bytes_to_backend"] != "4" {
		t.Errorf("logged %v", l)
	}
	if well.accepted.Load() != 0 {
		t.Error("a session was begun anew elsewhere")
	}
}

// C50: the machine's own lack of ports or addresses is not held against a backend.
func TestAFailureOfThisMachineIsNotHeldAgainstTheBackend(t *testing.T) {
	r := assemble(t, Config{Balance: picker.First}, echoes(t, 2)...)
	r.cfg().dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 77)} // not one of this machine
	r.address = r.listen("127.0.0.1:0").String()
	heard := []*hears{observe(r.backends[0]), observe(r.backends[1])}
	r.expectTurnedAway()
	r.awaitEnded(relay.ConnectFailed, 1)
	if f := r.dialFailures(); f["ports"] != 2 || len(f) != 1 {
		t.Errorf("dials failed of %v, want ports of both", f)
	}
	for _, h := range heard {
		if f := h.failures(); len(f) != 0 {
			t.Errorf("the observer heard of %v", f)
		}
	}
}

// A client that is gone while its backend is dialled is worth no further dial.
func TestAClientThatIsGoneEndsTheSearch(t *testing.T) {
	r := assemble(t, Config{}, plain(1)...)
	near, far := pair(t)
	abort(far)
	sess := &Session{svc: r.Service, cfg: r.cfg()}
	if canTell := relay.Dead(near); !canTell {
		eventually(t, "the reset to arrive", func() bool { _, err := near.Write([]byte{0}); return err != nil })
	}
	want := relay.End{}
	if relay.Dead(near) { // some systems do not tell
		want = relay.End{Who: relay.Client, Why: relay.Reset}
	}
	if e := sess.giveUp(&dialFault{kind: dialRefused}, relay.Dead(near)); e != want {
		t.Errorf("ended by %v, want %v", e, want)
	}
}

// C47: another backend's dial would need a descriptor just as well.
func TestADialWithoutDescriptorsEndsTheSearch(t *testing.T) {
	r := assemble(t, Config{})
	sess := &Session{svc: r.Service, cfg: r.cfg()}
	for kind, want := range map[dialFailure]relay.End{
		dialDescriptors: {Who: relay.Sluice, Why: relay.Descriptors},
		dialPorts:       {}, // there may be ports towards another
		dialRefused:     {},
	} {
		if e := sess.giveUp(&dialFault{kind: kind}, false); e != want {
			t.Errorf("%s: %v, want %v", kind, e, want)
		}
	}
}

// pair returns the two ends of a TCP connection.
func pair(t testing.TB) (accepted, dialled relay.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := dialTest(t, "tcp", ln.Addr().String(), "")
	a, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a.(relay.Conn), d
}
