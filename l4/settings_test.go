package l4

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// reconfigure is Reconfigure for tests that expect it to work.
func (r *rig) reconfigure(cfg Config) {
	r.t.Helper()
	if err := r.Reconfigure(cfg); err != nil {
		r.t.Fatal(err)
	}
}

func TestAConfigurationThatCannotBeChangesNothing(t *testing.T) {
	r := serve(t, Config{Balance: picker.First, MaxConnections: 3, Connect: holdFor(time.Minute)}, greeters(t, 2)...)
	was := r.cfg()
	view := r.Pool().view.Load()
	for name, cfg := range map[string]Config{
		"policy":          {Balance: "none such"},
		"session log":     {SessionLog: "some"},
		"proxy version":   {Proxy: ProxyConfig{Send: 3}},
		"conflict":        {Conflict: "war"},
		"on down":         {OnDown: "weep"},
		"a time":          {Connect: ConnectConfig{Hold: -1}},
		"another time":    {SlowStart: -1},
		"a limit":         {MaxConnections: -1},
		"a limit of size": {Connect: ConnectConfig{Replay: -1}},
	} {
		if err := r.Reconfigure(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: error %v", name, err)
		}
		if r.cfg() != was || r.Pool().view.Load() != view || r.Pool().balance != picker.First {
			t.Errorf("%s: something has changed", name)
		}
	}
	expectRead(t, r.connect(), "1")
}

func TestAPolicyThatCannotHaveTheBackendsIsRefused(t *testing.T) {
	p, _, _ := pool(t, picker.First, plain(maxMaglevAndMore)...)
	c, err := Config{Name: "svc", Balance: picker.Maglev}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	followed := false
	err = p.reconfigure(c, func() { followed = true })
	if !errors.Is(err, ErrConfig) || !errors.Is(err, picker.ErrTooMany) || followed || p.balance != picker.First {
		t.Errorf("error %v, followed: %v, balance %s", err, followed, p.balance)
	}
}

// maxMaglevAndMore is more backends than maglev takes.
const maxMaglevAndMore = 1<<16 + 1

func TestWhatBelongsToTheServiceStays(t *testing.T) {
	var told atomic.Int64
	cfg := withEngine(t, Config{Name: "svc", MaxHeld: 7, Decision: func(Decision) { told.Add(1) }, Transition: func(Transition) { told.Add(1) }})
	r := serve(t, cfg, echoes(t, 1)...)
	was := r.cfg().Config
	r.reconfigure(Config{Name: "other", MaxHeld: 3, Descriptors: NewDescriptors(2, 0), Decision: func(Decision) {}})
	if now := r.cfg().Config; now.Name != "svc" || now.MaxHeld != 7 || now.Engine != was.Engine || now.Descriptors != nil || now.Log != was.Log || r.Name() != "svc" {
		t.Errorf("%+v", now)
	}
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	r.expectTurnedAway()
	eventually(t, "the transition and the decision", func() bool { return told.Load() == 2 })
	r.Close()
	if err := r.Reconfigure(Config{}); err != ErrServiceClosed {
		t.Errorf("error %v", err)
	}
}

// What each new session meets is what was said last.
func TestNewSessionsBeginWithTheNewConfiguration(t *testing.T) {
	r := serve(t, Config{Balance: picker.First}, greeters(t, 2)...)
	expectRead(t, r.connect(), "1")
	expectRead(t, r.connect(), "1")
	r.reconfigure(Config{Balance: picker.RoundRobin})
	if a, b := read(t, r.connect(), 1), read(t, r.connect(), 1); a == b {
		t.Errorf("%s and %s are not in turn", a, b)
	}
	r.reconfigure(Config{Deny: prefixes(t, "127.0.0.0/8")})
	r.expectTurnedAway()
	r.reconfigure(Config{Allow: prefixes(t, "127.0.0.2/32")})
	r.expectTurnedAway()
	read(t, r.connectFrom("127.0.0.2"), 1)
	r.reconfigure(Config{Rate: func(netip.Addr) bool { return false }})
	r.expectTurnedAway()
	r.awaitEnded(relay.Denied, 2)
	r.awaitEnded(relay.LimitRate, 1)
	r.reconfigure(Config{MaxConnections: 6})
	read(t, r.connect(), 1)
	r.expectTurnedAway() // five of before count
	r.awaitEnded(relay.LimitConnections, 1)
	r.reconfigure(Config{MaxPerSource: 1}) // those of before do not: nobody has counted them by source
	read(t, r.connect(), 1)
	r.expectTurnedAway()
	r.awaitEnded(relay.LimitPerSource, 1)
}

func TestASessionKeepsTheTimesThatItBeganWith(t *testing.T) {
	idle := Config{Limits: relay.Limits{Idle: 100 * time.Millisecond}}
	r := serve(t, Config{}, echoes(t, 1)...)
	patient := r.connect()
	expectEcho(t, patient, "x")
	r.reconfigure(idle)
	hasty := r.connect()
	expectEcho(t, hasty, "x")
	r.reconfigure(Config{})
	began := time.Now()
	expectReset(t, hasty)
	r.awaitEnded(relay.Idle, 1)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("after %v", took)
	}
	expectEcho(t, patient, "y")
}

// A client that may wait goes on waiting when those after it may not.
func TestHeldClientsKeepTheirTime(t *testing.T) {
	r := serve(t, Config{Connect: holdFor(patience)}, echoes(t, 1)...)
	r.Pool().SetHealth(r.backends[0], Down, byProbe)
	waits := r.connect()
	r.awaitHeld(1)
	r.reconfigure(Config{})
	r.expectTurnedAway()
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	expectEcho(t, waits, "x")
}

// On-down is of the backend, so it is for the sessions that are there.
func TestOnDownIsForSessionsOfBefore(t *testing.T) {
	for _, closes := range []bool{true, false} {
		before, after := Config{OnDown: OnDownClose}, Config{}
		if closes {
			before, after = after, before
		}
		r := serve(t, before, echoes(t, 2)...)
		c := r.connectAll(2)
		r.reconfigure(after)
		r.Pool().SetHealth(r.backends[0], Down, byProbe)
		r.closings.Wait()
		if closes {
			expectReset(t, c[0])
		} else {
			expectEcho(t, c[0], "y")
		}
		expectEcho(t, c[1], "y")
	}
}

func TestSlowStartMayBeSwitchedOffInTheMidst(t *testing.T) {
	p, b := slowPool(t, picker.RoundRobin, time.Hour, plain(2)...)
	p.SetHealth(b[0], Down, byProbe)
	p.SetHealth(b[0], Up, byProbe)
	p.SetHealth(b[1], Up, byProbe)
	if s := p.shares(110); s["b1"] > 20 {
		t.Errorf("at the start: %v", s)
	}
	c, err := Config{Name: "svc"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.reconfigure(c, func() {}); err != nil {
		t.Fatal(err)
	}
	if s := p.shares(110); s["b1"] != 55 {
		t.Errorf("switched off: %v", s)
	}
}

// anyConfig is one of the configurations that no client can notice while its backends are
// well.
func anyConfig() Config {
	yes := func() bool { return rand.IntN(2) == 0 }
	c := Config{Balance: picker.Policies()[rand.IntN(len(picker.Policies()))], SessionLog: LogOff}
	if yes() {
		c.Connect.Hold = patience
	}
	if yes() {
		c.Connect.Replay = 1 + rand.IntN(100)
	}
	if yes() {
		c.Connect.HedgeAfter = time.Duration(1+rand.IntN(1000)) * time.Microsecond
	}
	if yes() {
		c.MaxConnections, c.MaxPerSource = 1000+rand.IntN(1000), 1000+rand.IntN(1000)
	}
	if yes() {
		c.SlowStart, c.CloseOver = time.Millisecond, time.Millisecond
	}
	if yes() {
		c.Limits.Idle, c.KeepAlive = time.Minute, time.Minute
	}
	if yes() {
		c.OnDown = OnDownClose
	}
	return c
}

// In any order, while clients come and sessions go on: nobody is refused, nothing is cut or
// lost, and nothing is left.
func TestNobodyNoticesAChangeOfTheConfiguration(t *testing.T) {
	for _, conflict := range []bool{false, true} {
		t.Run(fmt.Sprint("conflict=", conflict), func(t *testing.T) {
			r := serve(t, Config{SessionLog: LogOff}, echoes(t, 3)...)
			for i, b := range r.backends {
				// With one writer the others have no sessions to lose.
				r.Pool().SetHealth(b, []Health{Up, Down}[min(i, 1)*b2i(conflict)], byProbe)
			}
			long := r.connectAll(6)
			stop := r.flood("tcp", r.address)
			for i := range 200 {
				cfg := anyConfig()
				if conflict {
					cfg.Conflict = []Conflict{"", ConflictKeep, ConflictFirst, ConflictNone}[rand.IntN(4)]
				}
				r.reconfigure(cfg)
				r.awaitArrivals(uint64(4 * i))
				if i%20 == 0 {
					for _, c := range long {
						expectEcho(t, c, text(1000))
					}
				}
			}
			stop()
			for _, c := range long {
				expectEcho(t, c, text(50_000))
				c.Close()
			}
			r.awaitActive(0)
			if st := r.Stats(); len(st.Ended) != 1 {
				t.Errorf("ended: %v", st.Ended)
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The limits are switched on and off while sessions that counted, or did not, end.
func TestLimitsAreExactAgainAfterTheyHaveBeenOff(t *testing.T) {
	r := serve(t, Config{MaxConnections: 2, MaxPerSource: 2}, echoes(t, 1)...)
	one := r.connectAll(2)
	r.expectTurnedAway()
	r.reconfigure(Config{})
	two := r.connectAll(3)
	r.reconfigure(Config{MaxConnections: 6, MaxPerSource: 3})
	three := r.connectAll(1)
	r.expectTurnedAway()
	for _, c := range append(append(one, two...), three...) {
		c.Close()
	}
	r.awaitActive(0)
	r.connectAll(3)
	r.expectTurnedAway()
	r.awaitEnded(relay.LimitPerSource, 1)
}
