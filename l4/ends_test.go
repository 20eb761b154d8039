package l4

import (
	"strconv"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// kill ends the one session there is, as an operator's command will.
func (r *rig) kill(e relay.End) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for sess := range r.sessions.all {
		sess.kill(e)
		return
	}
}

// C91: every reason this package can give is provoked, counted and logged with who
// and why.
func TestEverySessionTellsWhoEndedItAndWhy(t *testing.T) {
	full := func(b BackendConfig) BackendConfig { b.MaxConnections = 1; return b }
	first := func(r *rig) relay.Conn { // a session that takes the only place
		c := r.connect()
		r.awaitRelayed(1)
		return c
	}
	turnedAway := func(t *testing.T, r *rig) { r.expectTurnedAway() }
	second := func(t *testing.T, r *rig) {
		c := first(r)
		r.expectTurnedAway()
		r.t.Cleanup(func() { c.Close() })
	}
	one := func(b BackendConfig) []BackendConfig { return []BackendConfig{b} }
	scriptedEnd := func(who relay.Who, why relay.Why) Config {
		return Config{Engine: &scripted{end: relay.End{Who: who, Why: why}, age: time.Hour}}
	}
	anyEnd := func(t *testing.T, r *rig) { drain(r.connect()) }
	echoing, quiet := backend(t, echo).config("b"), backend(t, mute).config("b")
	for _, c := range []struct {
		who      relay.Who
		why      relay.Why
		cfg      Config
		backends []BackendConfig
		client   func(t *testing.T, r *rig)
		backend  string
		attempts int
	}{
		{relay.Client, relay.EOF, Config{}, one(echoing), func(t *testing.T, r *rig) {
			c := r.connect()
			c.CloseWrite()
			expectDrain(t, c, "", "eof")
		}, "b", 1},
		{relay.Backend, relay.EOF, Config{}, one(backend(t, func(relay.Conn) {}).config("b")), func(t *testing.T, r *rig) {
			c := r.connect()
			expectDrain(t, c, "", "eof")
			c.Close()
		}, "b", 1},
		{relay.Client, relay.Reset, Config{}, one(echoing), func(t *testing.T, r *rig) { abort(first(r)) }, "b", 1},
		{relay.Backend, relay.Reset, Config{}, one(backend(t, func(c relay.Conn) { read(t, c, 1); abort(c) }).config("b")), func(t *testing.T, r *rig) {
			c := first(r)
			send(t, c, "x")
			expectReset(t, c)
		}, "b", 1},
		{relay.Sluice, relay.Idle, Config{Limits: relay.Limits{Idle: 50 * time.Millisecond}}, one(quiet), func(t *testing.T, r *rig) { expectReset(t, r.connect()) }, "b", 1},
		{relay.Sluice, relay.HalfClose, Config{Limits: relay.Limits{HalfClose: 50 * time.Millisecond}},
			one(backend(t, func(c relay.Conn) { c.CloseWrite(); mute(c) }).config("b")),
			func(t *testing.T, r *rig) { expectDrain(t, r.connect(), "", "eof") }, "b", 1},
		{relay.Client, relay.Timeout, scriptedEnd(relay.Client, relay.Timeout), one(quiet), anyEnd, "b", 1},
		{relay.Backend, relay.Timeout, scriptedEnd(relay.Backend, relay.Timeout), one(quiet), anyEnd, "b", 1},
		{relay.Sluice, relay.Internal, scriptedEnd(relay.Sluice, relay.Internal), one(quiet), anyEnd, "b", 1},
		{relay.Sluice, relay.ConnectFailed, Config{Balance: picker.First}, []BackendConfig{refusing(t, "a"), refusing(t, "b")}, turnedAway, "b", 2},
		{relay.Sluice, relay.NoBackend, Config{}, nil, turnedAway, "", 0},
		{relay.Sluice, relay.BackendsFull, Config{}, one(full(echoing)), second, "", 0},
		{relay.Sluice, relay.BackendsFull, Config{Balance: picker.First}, []BackendConfig{full(quiet), refusing(t, "dead")}, func(t *testing.T, r *rig) {
			second(t, r)
		}, "dead", 1},
		{relay.Sluice, relay.Denied, Config{Deny: prefixes(t, "127.0.0.0/8")}, one(echoing), turnedAway, "", 0},
		{relay.Sluice, relay.LimitConnections, Config{MaxConnections: 1}, one(echoing), second, "", 0},
		{relay.Sluice, relay.LimitPerSource, Config{MaxPerSource: 1}, one(echoing), second, "", 0},
		{relay.Sluice, relay.ProxyHeader, Config{Proxy: trustLoopback}, one(echoing), func(t *testing.T, r *rig) {
			c := r.connect()
			send(t, c, "GET")
			expectReset(t, c)
		}, "", 0},
		{relay.Sluice, relay.ProxyTimeout, Config{Proxy: ProxyConfig{Accept: trustLoopback.Accept, AcceptTimeout: 20 * time.Millisecond}}, one(echoing),
			func(t *testing.T, r *rig) { expectReset(t, r.connect()) }, "", 0},
		{relay.Operator, relay.Drain, Config{}, one(quiet), func(t *testing.T, r *rig) {
			c := first(r)
			r.Close()
			expectReset(t, c)
		}, "b", 1},
		{relay.Operator, relay.Killed, Config{}, one(quiet), func(t *testing.T, r *rig) {
			c := first(r)
			r.kill(relay.End{Who: relay.Operator, Why: relay.Killed})
			expectReset(t, c)
		}, "b", 1},
		{relay.Operator, relay.Killed, Config{Proxy: trustLoopback}, one(quiet), func(t *testing.T, r *rig) {
			c := r.connect()
			r.awaitActive(1)
			r.kill(relay.End{Who: relay.Operator, Why: relay.Killed})
			expectReset(t, c)
		}, "", 0},
	} {
		end := relay.End{Who: c.who, Why: c.why}
		t.Run(end.String(), func(t *testing.T) {
			r := serve(t, c.cfg, c.backends...)
			c.client(t, r)
			r.awaitEnded(c.why, 1)
			var found line
			for _, l := range r.log.await(t, "session", 1) {
				if l["end.why"] == c.why.String() {
					found = l
				}
			}
			if found["end.who"] != c.who.String() || found["backend"] != c.backend || found["attempts"] != strconv.Itoa(c.attempts) || found["client"] == "" {
				t.Errorf("logged %v", found)
			}
		})
	}
}

// A session that is killed between its dial and the hand-over ends with what the
// kill said, and reaches no engine.
func TestAKillBeforeTheHandOverEndsTheSession(t *testing.T) {
	r := assemble(t, Config{}, backend(t, mute).config("b"))
	near, far := pair(t)
	sess, ok := r.begin(netClient{near}, near)
	if !ok {
		t.Fatal("not begun")
	}
	if e := sess.connect(); e != (relay.End{}) {
		t.Fatal(e)
	}
	killed := relay.End{Who: relay.Operator, Why: relay.Killed}
	sess.kill(killed)
	sess.kill(relay.End{Who: relay.Operator, Why: relay.Drain}) // too late
	e := sess.handOver()
	if e != killed {
		t.Errorf("handed over, %v", e)
	}
	sess.turnAway(e)
	expectReset(t, far)
	r.awaitEnded(relay.Killed, 1)
	if b := r.Backends()[0]; b.Total != 1 || b.Sessions != 0 {
		t.Errorf("%+v", b)
	}
}
