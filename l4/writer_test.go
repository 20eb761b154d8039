package l4

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

func writerPool(t testing.TB, c Conflict, backends ...BackendConfig) (*Pool, []*Backend, *journal) {
	t.Helper()
	j := &journal{}
	p := newPool(poolConfig{service: "svc", balance: "round-robin", log: j.logger(), rules: rules{strict: true, conflict: c}}, 0)
	all, err := p.Add(backends...)
	if err != nil {
		t.Fatal(err)
	}
	return p, all, j
}

func TestTheWritersPlaceGoesToOne(t *testing.T) {
	for _, c := range []struct {
		conflict Conflict
		claims   string // of each backend
		holder   int
		want     int
	}{
		{ConflictKeep, "---", -1, -1},
		{ConflictKeep, "-x-", -1, 1},
		{ConflictKeep, "xx-", 1, 1},
		{ConflictKeep, "x-x", 1, 0}, // the holder claims it no more: the first
		{ConflictKeep, "xx-", -1, 0},
		{ConflictFirst, "-xx", 2, 1},
		{ConflictFirst, "xxx", 2, 0},
		{ConflictFirst, "--x", 0, 2},
		{ConflictNone, "xx-", 0, -1},
		{ConflictNone, "-x-", 0, 1},
		{ConflictNone, "---", 0, -1},
	} {
		var claims []bool
		for _, claim := range c.claims {
			claims = append(claims, claim == 'x')
		}
		if got := c.conflict.elect(claims, c.holder); got != c.want {
			t.Errorf("%s, %s, held by %d: %d, want %d", c.conflict, c.claims, c.holder, got, c.want)
		}
	}
}

// Whatever probes and dials say in whatever order, no two backends are ever to be had.
func TestTwoWritersNeverBothGetSessions(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	for _, conflict := range []Conflict{ConflictKeep, ConflictNone, ConflictFirst} {
		for _, n := range []int{2, 3, fewBackends + 4} {
			p, b, _ := writerPool(t, conflict, plain(n)...)
			holder := -1
			for step := range 3000 {
				i := random.IntN(n)
				switch random.IntN(8) {
				case 0:
					p.Eject(b[i], byDial)
				case 1:
					p.Restore(b[i], byDial)
				default:
					p.SetHealth(b[i], []Health{Up, Up, Down, Unknown}[random.IntN(4)], byProbe)
				}
				claims := make([]bool, n)
				for k := range b {
					claims[k] = b[k].health == Up
				}
				if holder >= 0 || !slices.ContainsFunc(b, func(b *Backend) bool { return b.health == Unknown }) {
					holder = conflict.elect(claims, holder)
				}
				var tried []*Backend
				for {
					got, why := p.choose(random.Uint64(), tried)
					if got == nil {
						if why != relay.NoBackend {
							t.Fatal(why)
						}
						break
					}
					got.give()
					tried = append(tried, got)
				}
				switch {
				case len(tried) > 1, holder < 0 && len(tried) > 0, holder >= 0 && !slices.Contains(tried, b[holder]):
					t.Fatalf("seed %d, step %d: %s of %d: %d to be had, the holder is %d", seed, step, conflict, n, len(tried), holder)
				}
				for k := range b {
					if barred := b[k].barred.Load(); barred != (k != holder) {
						t.Fatalf("seed %d, step %d: b%d barred: %v", seed, step, k+1, barred)
					}
				}
			}
		}
	}
}

func TestAConflictIsSaidOnceAndSoIsItsEnd(t *testing.T) {
	p, b, j := writerPool(t, ConflictKeep, plain(3)...)
	p.SetHealth(b[0], Down, byProbe)
	p.SetHealth(b[2], Down, byProbe)
	j.said()
	p.SetHealth(b[1], Up, byProbe)
	if got, want := fmt.Sprint(j.said()), "[INFO backend up]"; got != want {
		t.Errorf("the first writer: %s, want %s", got, want)
	}
	p.SetHealth(b[0], Up, byProbe)
	l := j.of("backend still down") // by its probes, and now for the conflict
	if len(l) != 1 || l[0]["backend"] != "b1" || l[0]["to"] != "conflict" || l[0]["reason"] != "2 in a row; claims to be the writer, but b2 is (conflict: keep)" {
		t.Errorf("logged %v", l)
	}
	if l := j.of("several writers"); len(l) != 1 || l[0]["claims"] != "b1, b2" || l[0]["serving"] != "b2" || l[0]["level"] != "WARN" {
		t.Errorf("logged %v", l)
	}
	j.said()
	p.SetHealth(b[1], Down, byProbe)
	if got, want := fmt.Sprint(j.said()), "[INFO one writer again INFO backend down INFO backend up]"; got != want {
		t.Errorf("the second writer goes: %s, want %s", got, want)
	}
	if p.shape() != "b1" {
		t.Errorf("to be had: %s", p.shape())
	}
}

// Until its first probe has said so, a backend is no writer: clients wait, or are refused.
func TestAnUnknownBackendIsNoWriter(t *testing.T) {
	r := serve(t, Config{Conflict: ConflictKeep}, echoes(t, 2)...)
	r.expectTurnedAway()
	r.Pool().SetHealth(r.backends[1], Down, byProbe)
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	expectEcho(t, r.connect(), "x")
	if r.Backends()[1].Total != 0 {
		t.Error("an unknown backend had a session")
	}
}

// A backend that is to get no sessions does not keep the place from one that is.
func TestAWriterOfWeightZeroStandsBack(t *testing.T) {
	two := plain(2)
	two[0].Weight = 0
	for _, conflict := range []Conflict{ConflictKeep, ConflictFirst} {
		p, b, _ := writerPool(t, conflict, two...)
		p.SetHealth(b[0], Up, byProbe)
		p.SetHealth(b[1], Up, byProbe)
		if p.shape() != "b2" {
			t.Errorf("%s: to be had: %s", conflict, p.shape())
		}
	}
}

// Whichever backend answers first, the first election is among all.
func TestTheFirstElectionWaitsForAll(t *testing.T) {
	for _, conflict := range []Conflict{ConflictKeep, ConflictFirst} {
		p, b, _ := writerPool(t, conflict, plain(3)...)
		p.SetHealth(b[2], Up, byProbe)
		p.SetHealth(b[1], Down, byProbe)
		if p.shape() != "" {
			t.Errorf("%s: to be had before all were heard: %s", conflict, p.shape())
		}
		p.SetHealth(b[0], Up, byProbe)
		if p.shape() != "b1" {
			t.Errorf("%s: to be had: %s", conflict, p.shape())
		}
	}
}

// Before all have been heard nothing is known to be wrong: nobody is called down, and no
// outage is told. Then one writer is, or none.
func TestNothingIsSaidToBeDownBeforeAllHaveBeenHeard(t *testing.T) {
	for _, conflict := range []Conflict{ConflictNone, ConflictKeep, ConflictFirst} {
		p, b, j := writerPool(t, conflict, plain(3)...)
		p.SetHealth(b[1], Up, byProbe)
		p.SetHealth(b[2], Up, byProbe)
		p.Eject(b[1], byDial)
		p.Restore(b[1], byProbe)
		if said := j.said(); len(said) != 0 || p.shape() != "" {
			t.Errorf("%s: said %v, to be had %q", conflict, said, p.shape())
		}
		for _, b := range b[1:] {
			if b.status() != "unknown" || !b.barred.Load() || b.excuse() != "no writer is chosen before every backend has been probed once" {
				t.Errorf("%s: %s is %s: %s", conflict, b.Name(), b.status(), b.excuse())
			}
		}
		p.SetHealth(b[0], Down, byProbe)
		up, down, out := len(j.of("backend up")), len(j.of("backend down")), len(j.of("no usable backend"))
		if conflict == ConflictNone {
			if up != 0 || down != 3 || out != 1 || p.shape() != "" {
				t.Errorf("%s: %v, to be had %q", conflict, j.said(), p.shape())
			}
			continue
		}
		if up != 1 || down != 2 || out != 0 || p.shape() != "b2" {
			t.Errorf("%s: %v, to be had %q", conflict, j.said(), p.shape())
		}
	}
}

func TestOneInMaintIsNotWaitedForAndOneThatIsBackNeither(t *testing.T) {
	p, b, j := writerPool(t, ConflictKeep, plain(3)...)
	p.SetHealth(b[1], Up, byProbe)
	p.SetHealth(b[2], Down, byProbe)
	if p.shape() != "" {
		t.Errorf("to be had before b1 was heard: %q", p.shape())
	}
	p.SetAdmin(b[0], Maint, byAdmin)
	if p.shape() != "b2" {
		t.Errorf("to be had: %q", p.shape())
	}
	p.SetAdmin(b[0], Ready, byAdmin) // unknown, but there is a writer
	if p.shape() != "b2" || len(j.of("no usable backend")) != 0 {
		t.Errorf("to be had: %q", p.shape())
	}
}

func TestThereIsNoOutageBeforeTheFirstElection(t *testing.T) {
	p, b, j := writerPool(t, ConflictKeep, plain(2)...)
	p.SetHealth(b[0], Down, byProbe)
	if len(j.of("no usable backend")) != 0 {
		t.Error("an outage is told before b2 was heard")
	}
	p.SetHealth(b[1], Down, byProbe)
	if len(j.of("no usable backend")) != 1 {
		t.Error("no outage is told, with both down")
	}
	p.SetHealth(b[1], Up, byProbe)
	if len(j.of("usable again")) != 1 {
		t.Error("its end is not told")
	}
}

// The writer is drained. One that claims its place as well has it then; with nobody else
// there is no other writer, and clients wait or are refused.
func TestTheWriterIsDrained(t *testing.T) {
	for _, c := range []struct {
		conflict Conflict
		other    Health
		want     string
	}{
		{ConflictKeep, Down, ""}, {ConflictFirst, Down, ""}, {ConflictNone, Down, ""},
		{ConflictKeep, Up, "b2"}, {ConflictFirst, Up, "b2"}, {ConflictNone, Up, ""},
	} {
		for _, a := range []Admin{Drain, Maint} {
			p, b, _ := writerPool(t, c.conflict, plain(2)...)
			p.SetHealth(b[1], Down, byProbe)
			p.SetHealth(b[0], Up, byProbe)
			p.SetHealth(b[1], c.other, byProbe)
			p.SetAdmin(b[0], a, byAdmin)
			want := c.want
			if a == Maint && c.other == Up {
				want = "b2" // the other one is the only one that claims it
			}
			if p.shape() != want || !b[0].barred.Load() || b[1].barred.Load() != (want == "") {
				t.Errorf("%s, the other %s, %s: to be had %q", c.conflict, c.other, a, p.shape())
			}
			if fallen := b[0].fallen.Load(); fallen != (c.other == Up) {
				t.Errorf("%s, the other %s, %s: its sessions have nobody: %v", c.conflict, c.other, a, fallen)
			}
		}
	}
}

// Sessions go on in each administrative state, and back in ready, as long as nobody else has
// the writer's place.
func TestSessionsOfAWriterThatPeopleTakeOutGoOn(t *testing.T) {
	r := serve(t, Config{Conflict: ConflictKeep, OnDown: OnDownClose}, echoes(t, 2)...)
	p, b := r.Pool(), r.backends
	p.SetHealth(b[1], Down, byProbe)
	p.SetHealth(b[0], Up, byProbe)
	c := r.connect()
	expectEcho(t, c, "x")
	for _, a := range []Admin{Drain, Ready, Maint, Drain, Maint, Ready} {
		p.SetAdmin(b[0], a, byAdmin)
		r.closings.Wait()
		expectEcho(t, c, a.String())
	}
	p.SetHealth(b[0], Up, byProbe)
	expectEcho(t, c, "it is the writer again")
	p.SetAdmin(b[0], Maint, byAdmin)
	p.SetHealth(b[1], Up, byProbe) // now there is another one
	expectReset(t, c)
	expectEcho(t, r.connect(), "y")
}

// Without a rule for conflicts nobody claims anything any more.
func TestWhoIsBackSinceTheConflictIsNoneIsSaidToBeBackForThat(t *testing.T) {
	r := assemble(t, Config{Conflict: ConflictKeep}, plain(2)...)
	for _, b := range r.backends {
		r.Pool().SetHealth(b, Up, byProbe)
	}
	if err := r.Reconfigure(Config{}); err != nil {
		t.Fatal(err)
	}
	l := r.log.of("backend up")
	if last := l[len(l)-1]; last["backend"] != "b2" || last["from"] != "conflict" || last["reason"] != "the configuration changed" {
		t.Errorf("logged %v", last)
	}
	if r.Pool().shape() != "b1+b2" {
		t.Errorf("to be had: %q", r.Pool().shape())
	}
}

// A writer that may well be working keeps its sessions as long as nobody else has the place,
// and no longer: two writers must not have any.
func TestAWriterThatIsNotSurelyDownKeepsItsSessionsUntilThereIsAnother(t *testing.T) {
	for _, conflict := range []Conflict{ConflictKeep, ConflictFirst, ConflictNone} {
		r := serve(t, Config{Conflict: conflict, OnDown: OnDownClose}, echoes(t, 2)...)
		p, b := r.Pool(), r.backends
		p.SetHealth(b[1], Down, byProbe)
		p.SetHealth(b[0], Up, byProbe)
		c := r.connect()
		expectEcho(t, c, "x")
		p.SetHealth(b[0], Down, byHunch)
		r.closings.Wait()
		expectEcho(t, c, "nobody else is the writer")
		r.expectTurnedAway()
		p.SetHealth(b[1], Up, byProbe)
		expectReset(t, c)
		r.awaitEnded(relay.BackendDown, 1)
		expectEcho(t, r.connect(), "y")
		if got := r.Backends(); got[0].Sessions != 0 || got[1].Total != 1 {
			t.Errorf("%s: %+v", conflict, got)
		}
	}
}

// Likewise once it is known to be down.
func TestAWriterLosesItsSessionsOnceItIsSurelyDown(t *testing.T) {
	r := serve(t, Config{Conflict: ConflictKeep, OnDown: OnDownClose}, echoes(t, 2)...)
	p, b := r.Pool(), r.backends
	p.SetHealth(b[1], Down, byProbe)
	p.SetHealth(b[0], Up, byProbe)
	c := r.connect()
	expectEcho(t, c, "x")
	p.SetHealth(b[0], Down, byHunch)
	r.closings.Wait()
	expectEcho(t, c, "y")
	p.SetHealth(b[0], Down, byProbe)
	expectReset(t, c)
	r.awaitEnded(relay.BackendDown, 1)
}

// away returns how many sessions are with a backend that has not the writer's place.
func (r *rig) away() (n int) {
	p := r.Pool()
	p.mu.Lock()
	holder := p.holder
	p.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for sess := range r.sessions.all {
		if at := sess.serving.Load(); at != nil && at != holder {
			n++
		}
	}
	return n
}

// Verdicts change at random, and clients come and stay: when all is quiet none of them may be
// with a backend that has not the writer's place.
func TestNobodyStaysWithWhoIsNotTheWriter(t *testing.T) {
	for _, conflict := range []Conflict{ConflictKeep, ConflictFirst, ConflictNone} {
		for _, replay := range []int{0, 100} {
			for _, over := range []time.Duration{0, 10 * time.Millisecond} {
				t.Run(fmt.Sprintf("%s/replay=%d/over=%v", conflict, replay, over), func(t *testing.T) {
					b := echoes(t, 3)
					b[1].Address = strings.Replace(b[1].Address, "127.0.0.1", "localhost", 1) // dialled in another way
					b[2].MaxConnections = 40
					r := serve(t, Config{OnDown: OnDownClose, Conflict: conflict, CloseOver: over, SessionLog: LogOff,
						Connect: ConnectConfig{Replay: replay, Hold: patience, HedgeAfter: time.Millisecond, Timeout: patience}}, b...)
					stop := r.flicker()
					var clients [4][]net.Conn
					parallel(len(clients), func(i int) {
						for range 30 {
							if c, err := dialer("").Dial("tcp", r.address); err == nil {
								io.WriteString(c, "hello")
								clients[i] = append(clients[i], c)
							}
							<-time.After(time.Duration(rand.IntN(500)) * time.Microsecond)
						}
					})
					stop()
					r.closings.Wait()
					eventually(t, "those to end that are with others than the writer", func() bool { return r.away() == 0 })
					for _, c := range slices.Concat(clients[:]...) {
						abort(c)
					}
					r.Pool().SetHealth(r.backends[0], Up, byProbe)
					r.awaitActive(0)
					if n, full := r.room.n.Load(), r.room.full.Load(); n != 0 || full != 0 {
						t.Errorf("%d still wait, %d of them for a slot", n, full)
					}
				})
			}
		}
	}
}

// flicker calls backends up and down at random, and pauses the service now and then.
func (r *rig) flicker() (stop func()) {
	end := make(chan struct{})
	over := async(func() bool {
		for i := 0; ; i++ {
			select {
			case <-end:
				return true
			case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
				r.Pool().SetHealth(r.backends[rand.IntN(len(r.backends))], []Health{Up, Down}[rand.IntN(2)], byProbe)
				if i%50 == 0 {
					r.Pause(time.Millisecond)
				}
			}
		}
	})
	return func() { close(end); <-over }
}
