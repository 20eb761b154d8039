package failover

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/talk"
)

// fake is a balancer with known faults, in front of real backends. It keeps what it did;
// its times are since the load began.
type fake struct {
	t        *testing.T
	addr     string
	backends []*echo
	// pick is the backend of a session.
	pick func(session uint64) int
	// answer does with the answer to a message what the fault wants, and says what is next.
	answer func(c net.Conn, session uint64, number uint32, b []byte) verdict

	gate sync.RWMutex // held while it is frozen: nobody gets an answer
	all  sync.WaitGroup
	ln   net.Listener

	mu     sync.Mutex
	since  time.Time
	passed map[uint64]time.Duration // when the first answer of a session was passed on
	cut    map[uint64]bool          // those whose connection it reset, as their backend had failed
}

// verdict is what becomes of an answer.
type verdict int

const (
	pass verdict = iota // as usual
	lose                // it is not passed on, what follows is
	end                 // and of the connection: its end
)

func newFake(t *testing.T, backends int) *fake {
	t.Helper()
	f := &fake{t: t, addr: "127.0.0.1:0", passed: make(map[uint64]time.Duration), cut: make(map[uint64]bool)}
	for i := range backends {
		f.backends = append(f.backends, startEcho(t, i))
	}
	f.pick = func(session uint64) int { return int(session) % backends }
	f.answer = func(net.Conn, uint64, uint32, []byte) verdict { return pass }
	f.listen()
	t.Cleanup(f.close)
	return f
}

// close waits until every client has ended, which is theirs to do.
func (f *fake) close() {
	_ = f.ln.Close()
	f.all.Wait()
}

// listen accepts clients until ln is closed.
func (f *fake) listen() {
	ln, err := net.Listen("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.ln, f.addr = ln, ln.Addr().String()
	f.all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f.all.Go(func() { f.pass(c) })
		}
	})
}

// pass passes the messages of a client on, one by one.
func (f *fake) pass(c net.Conn) {
	defer c.Close()
	var far net.Conn
	b := make([]byte, talk.Size)
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		session, number, err := talk.ParseRequest(b)
		if err == nil && far == nil {
			if far, err = net.Dial("tcp", f.backends[f.pick(session)].addr); err == nil {
				defer far.Close()
			}
		}
		if err == nil {
			err = ask(far, b)
		}
		if err != nil {
			f.mu.Lock()
			f.cut[session] = true
			f.mu.Unlock()
			talk.Reset(c)
			return
		}
		switch f.answer(c, session, number, b) {
		case lose:
			continue
		case end:
			return
		}
		f.thaw()
		f.note(session)
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// ask sends b and reads what comes back into it.
func ask(c net.Conn, b []byte) error {
	if _, err := c.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(c, b)
	return err
}

// thaw waits while the fake is frozen.
func (f *fake) thaw() {
	f.gate.RLock()
	defer f.gate.RUnlock()
}

func (f *fake) note(session uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.passed[session]; !ok {
		f.passed[session] = time.Since(f.since)
	}
}

func (f *fake) now() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.since)
}

// at waits until then.
func (f *fake) at(then time.Duration) { <-time.After(then - f.now()) }

// loads are offered to a fake.
type loads struct {
	length time.Duration
	rate   float64
	// patience of clients; zero = so long that none loses it.
	patience              time.Duration
	hashed, hashedASecond int
	talks                 int
}

// measured is what a run told, beside what the fake did.
type measured struct {
	*fake
	Run
	saw observed
	// noise is for how long the machine kept somebody waiting who was to run.
	noise time.Duration
}

// measure offers the loads; meanwhile breaks and mends, and returns what was broken.
func (f *fake) measure(l loads, meanwhile func() []Outage) measured {
	if l.patience == 0 {
		l.patience = time.Minute
	}
	m := measured{fake: f, saw: observed{backends: len(f.backends), length: l.length}}
	f.mu.Lock()
	f.since = time.Now()
	f.mu.Unlock()
	ctx, cancel := context.WithDeadline(f.t.Context(), f.since.Add(l.length))
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		m.saw.any = load.Arrivals{
			Addr: f.addr, Rate: l.rate, Sources: anySources, Patience: l.patience, Since: f.since, Exchange: talk.Exchange, FirstSession: anySession,
		}.Run(ctx)
	})
	if l.hashed > 0 {
		all.Go(func() {
			m.saw.hashed = load.Arrivals{
				Addr: f.addr, Rate: float64(l.hashedASecond), Sources: l.hashed, FirstSource: anySources, Patience: l.patience, Since: f.since,
				Exchange: talk.Exchange, FirstSession: hashedSession,
			}.Run(ctx)
		})
	}
	if l.talks > 0 {
		all.Go(func() {
			m.saw.talks = load.Talkers{Speech: load.Numbered(), Addr: f.addr, Clients: l.talks, Since: f.since, Stuck: StuckAfter, FirstSession: talkSession}.Run(ctx)
		})
	}
	all.Go(func() { m.noise = noise(ctx) })
	if meanwhile != nil {
		m.saw.outages = meanwhile()
	}
	all.Wait()
	f.close()
	m.saw.fill(&m.Run)
	f.t.Logf("noise %v, values %v", m.noise, m.Values)
	m.about("behind_ms", 0) // it is the fake that is late, never the load
	return m
}

// noise is for how long, at most, a goroutine that was to run each millisecond did not.
func noise(ctx context.Context) (worst time.Duration) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for before := time.Now(); ; {
		select {
		case <-ctx.Done():
			return worst
		case <-tick.C:
			worst, before = max(worst, time.Since(before)), time.Now()
		}
	}
}

// exactly holds counts to be what the fake did.
func (m measured) exactly(want map[string]float64) {
	m.t.Helper()
	for key, w := range want {
		if got, ok := m.Values[key]; got != w || !ok {
			m.t.Errorf("%s is %v (%t), was %v", key, got, ok, w)
		}
	}
}

// quiet tells whether the machine could keep times at all. If it kept a goroutine waiting
// for longer than what is to be told, only what does not depend on time is compared.
func (m measured) quiet() bool { return m.noise < 100*time.Millisecond }

// slack is how much later the noise can have made anything: at the fake, and at the client.
func (m measured) slack() time.Duration { return 2*m.noise + 5*time.Millisecond }

// about holds a time to be what the fake did, to 50 ms and what the noise can do.
func (m measured) about(key string, want time.Duration) {
	m.t.Helper()
	got := time.Duration(m.Values[key] * float64(time.Millisecond))
	if _, ok := m.Values[key]; !ok || m.quiet() && (got-want).Abs() > 50*time.Millisecond+m.slack() {
		m.t.Errorf("%s is %v (%t), was %v; noise %v", key, got, ok, want, m.noise)
	}
}

// late holds a count of clients that were delayed for longer than limit, or gave up then,
// to be that of those whom the fake answered so late. None of them can be served sooner;
// noise makes some later.
func (m measured) late(name string, got float64, limit time.Duration) {
	m.t.Helper()
	least, most := 0.0, 0.0
	for _, v := range m.saw.any {
		passed, ok := m.passed[v.Session]
		if ok && passed-v.Due > limit {
			least++
		}
		if ok && passed-v.Due > limit-m.slack() {
			most++
		}
	}
	if got < least || m.quiet() && got > most {
		m.t.Errorf("%s: %v, %v to %v were; noise %v", name, got, least, most, m.noise)
	}
}

// echo is a backend that can be ended and started again.
type echo struct {
	t     *testing.T
	index int
	addr  string
	end   context.CancelFunc
	all   sync.WaitGroup
}

func startEcho(t *testing.T, index int) *echo {
	t.Helper()
	e := &echo{t: t, index: index, addr: "127.0.0.1:0"}
	e.start()
	t.Cleanup(func() {
		e.end()
		e.all.Wait()
	})
	return e
}

func (e *echo) start() {
	ln, err := net.Listen("tcp", e.addr)
	if err != nil {
		e.t.Fatal(err)
	}
	e.addr = ln.Addr().String()
	var ctx context.Context
	ctx, e.end = context.WithCancel(context.Background())
	e.all.Go(func() { _ = talk.Serve(ctx, ln, talk.Hooks{Backend: e.index}) })
}
