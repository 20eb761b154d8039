package l4

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// everySession selects all.
func everySession(SessionInfo) bool { return true }

func TestSessionsAreListedWithWhatTheyAre(t *testing.T) {
	r := serve(t, Config{Connect: holdFor(patience)}, echoes(t, 1)...)
	before := time.Now()
	c := r.connect()
	expectEcho(t, c, "hello")
	eventually(t, "the count", func() bool { return r.Sessions(everySession)[0].Moved == [2]int64{5, 5} })
	r.Pool().SetAdmin(r.backends[0], Drain, byAdmin)
	waits := r.connect()
	r.awaitHeld(1)
	all := r.Sessions(everySession)
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	newest, oldest := all[0], all[1]
	if newest.Phase != Held || newest.Backend != "" || newest.ID <= oldest.ID || newest.Client.String() != waits.LocalAddr().String() {
		t.Errorf("%+v", newest)
	}
	if oldest.Phase != Relaying || oldest.Backend != "b1" || oldest.Attempts != 1 || oldest.Client.String() != c.LocalAddr().String() ||
		oldest.Start.Before(before) || oldest.Start.After(time.Now()) {
		t.Errorf("%+v", oldest)
	}
	if got := r.Sessions(func(i SessionInfo) bool { return i.Phase == Held }); len(got) != 1 || got[0].ID != newest.ID {
		t.Errorf("%+v", got)
	}
	waits.Close()
	c.Close()
	eventually(t, "an empty list", func() bool { return len(r.Sessions(everySession)) == 0 })
}

func TestASessionWithoutABackendIsConnecting(t *testing.T) {
	r := serve(t, Config{Proxy: ProxyConfig{Accept: trustLoopback.Accept}}, echoes(t, 1)...)
	c := r.connect()
	eventually(t, "the session", func() bool { return len(r.Sessions(everySession)) == 1 })
	if i := r.Sessions(everySession)[0]; i.Phase != Connecting || i.Backend != "" || i.Attempts != 0 || i.Client.String() != c.LocalAddr().String() {
		t.Errorf("%+v", i)
	}
	send(t, c, line4)
	r.awaitRelayed(1)
	if i := r.Sessions(everySession)[0]; i.Phase != Relaying || i.Client.String() == c.LocalAddr().String() {
		t.Errorf("%+v: the header names another client", i)
	}
	if n := r.Kill(everySession); n != 1 {
		t.Errorf("%d were killed", n)
	}
	expectReset(t, c)
}

func TestKillEndsThoseThatAreMeantAndTellsHowMany(t *testing.T) {
	const each = 50
	r := serve(t, Config{}, echoes(t, 2)...)
	all := r.connectAll(2 * each)
	onFirst := func(i SessionInfo) bool { return i.Backend == "b1" }
	if n := r.Kill(onFirst); n != each {
		t.Errorf("%d were killed", n)
	}
	for i, c := range all {
		if i%2 == 0 {
			expectReset(t, c)
		} else {
			expectEcho(t, c, "y")
		}
	}
	r.awaitEnded(relay.Killed, each)
	if n := r.Kill(onFirst); n != 0 {
		t.Errorf("%d were killed twice", n)
	}
	for _, l := range r.log.await(t, "session", each) {
		if l["end.who"] != "operator" || l["end.why"] != "killed" || l["backend"] != "b1" {
			t.Errorf("logged %v", l)
		}
	}
}

func TestHeldSessionsAndThoseInTheirFirstFlightAreKilled(t *testing.T) {
	cfg := replaying(100)
	cfg.Connect.Hold = patience
	one := backend(t, mute).config("b1")
	one.MaxConnections = 5
	r := serve(t, cfg, one)
	var all []relay.Conn
	for range 15 {
		all = append(all, r.connect())
	}
	r.awaitHeld(10)
	eventually(t, "the flights", func() bool { return r.backends[0].total.Load() == 5 })
	if n := r.Kill(everySession); n != 15 {
		t.Errorf("%d were killed", n)
	}
	for _, c := range all {
		expectReset(t, c)
	}
	r.awaitEnded(relay.Killed, 15)
	r.awaitHeld(0)
}

// Walks pause, and the list changes meanwhile: sessions that live all the time are seen each
// time, and once.
func TestAWalkSeesEachLivingSessionOnceWhileOthersComeAndGo(t *testing.T) {
	s := assemble(t, Config{SessionLog: LogOff}, plain(1)...).Service
	begin := func() *Session {
		sess, ok := s.begin(netClient{gone{}}, nil)
		if !ok {
			t.Error("the service is closing")
		}
		return sess
	}
	var living []*Session
	for range 3 * walkAtOnce {
		living = append(living, begin(), begin())
	}
	var fleeting sync.WaitGroup
	end := make(chan struct{})
	for range 2 {
		fleeting.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				var all []*Session
				for range 1 + rand.IntN(2*walkAtOnce) {
					all = append(all, begin())
				}
				rand.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
				for _, sess := range all {
					sess.finish(relay.End{Who: relay.Client, Why: relay.EOF})
				}
			}
		})
	}
	ids := make(map[uint64]bool)
	for _, sess := range living {
		ids[sess.id] = true
	}
	parallel(3, func(int) {
		for range 6 {
			seen, last, n := make(map[uint64]bool), uint64(1<<63), 0
			for _, i := range s.Sessions(everySession) {
				if seen[i.ID] {
					t.Errorf("%d was seen twice", i.ID)
				}
				if i.ID >= last {
					t.Errorf("%d comes after %d: the newest is to be first", i.ID, last)
				}
				seen[i.ID], last = true, i.ID
				if ids[i.ID] {
					n++
				}
			}
			if n != len(living) {
				t.Errorf("%d of %d living ones were seen", n, len(living))
			}
		}
	})
	close(end)
	fleeting.Wait()
	for i, sess := range living {
		sess.finish(relay.End{Who: relay.Client, Why: relay.EOF})
		if i%100 == 0 {
			s.Sessions(everySession)
		}
	}
	if s.sessions.first != nil || s.sessions.n != 0 {
		t.Errorf("%d are left, or a mark", s.sessions.n)
	}
}

// gone is a client of whom nothing is known.
type gone struct{ net.Conn }

func (gone) RemoteAddr() net.Addr { return &net.UnixAddr{} }

// Each mark keeps its place whatever goes beside it, other marks included.
func TestMarksLeaveTheListAsItWas(t *testing.T) {
	svc := &Service{}
	for range 300 {
		var l sessionList
		var sessions []*Session
		marks := []*Session{{}, {}, {}}
		for range 6 {
			sessions = append(sessions, &Session{svc: svc})
			l.add(sessions[len(sessions)-1])
		}
		for i, m := range marks {
			l.mark(m, slices.Concat(sessions, marks[:i])[rand.IntN(6+i)])
		}
		l.remove(sessions[rand.IntN(6)])
		l.add(&Session{svc: svc})
		rand.Shuffle(3, func(i, k int) { marks[i], marks[k] = marks[k], marks[i] })
		for _, m := range marks {
			l.unlink(m)
		}
		n, last := 0, (*Session)(nil)
		for s := l.first; s != nil; s = s.following {
			if s.svc == nil || s.previous != last {
				t.Fatal("a mark is left, or a link is wrong")
			}
			n, last = n+1, s
		}
		if n != 6 || l.n != 6 || len(slices.Collect(l.all)) != 6 {
			t.Fatalf("%d sessions, %d counted", n, l.n)
		}
	}
}

// While thousands come, whoever is killed was counted, and once.
func TestKillsDuringAFloodAreCounted(t *testing.T) {
	r := serve(t, Config{SessionLog: LogOff, Balance: picker.LeastConn}, echoes(t, 2)...)
	stays := r.connectAll(20)
	ids := make(map[uint64]bool)
	for _, i := range r.Sessions(everySession) {
		ids[i.ID] = true
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var served, cut atomic.Int64
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if once("tcp", r.address, "x") == nil {
					served.Add(1)
				} else {
					cut.Add(1)
				}
			}
		})
	}
	var killed atomic.Int64
	parallel(2, func(int) {
		for n := range 100 {
			r.awaitArrivals(uint64(5 * n))
			killed.Add(int64(r.Kill(func(i SessionInfo) bool { return !ids[i.ID] && i.ID%3 == 0 })))
		}
	})
	close(stop)
	clients.Wait()
	for _, c := range stays {
		expectEcho(t, c, "y")
	}
	r.awaitActive(20)
	// One that was ending by itself when it was killed keeps its end.
	if ended := r.ended(relay.Killed); ended > killed.Load() || ended == 0 || cut.Load() > killed.Load() {
		t.Errorf("%d ended as killed, %d were killed, %d cut, %d served", ended, killed.Load(), cut.Load(), served.Load())
	}
	if n := r.Kill(everySession); n != 20 {
		t.Errorf("%d were killed", n)
	}
	r.awaitActive(0)
}
