package failover

import (
	"io"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

func TestEveryTenthClientThatIsDroppedIsCounted(t *testing.T) {
	for _, tt := range []struct {
		key  string
		drop func(c net.Conn, b []byte)
	}{
		{"failed_closed", func(net.Conn, []byte) {}},
		{"failed_closed", func(c net.Conn, b []byte) { _, _ = c.Write(b[:talk.Size-1]) }},
		{"failed_reset", func(c net.Conn, _ []byte) { talk.Reset(c) }},
		{"failed_timeout", func(c net.Conn, _ []byte) { _, _ = io.Copy(io.Discard, c) }},
		{"failed_wrong", func(c net.Conn, b []byte) { b[30], b[31] = b[31], b[30]; _, _ = c.Write(b) }},
	} {
		t.Run(tt.key, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 2)
			f.answer = func(c net.Conn, session uint64, _ uint32, b []byte) verdict {
				if session%10 != 9 {
					return pass
				}
				tt.drop(c, b)
				return end
			}
			l := loads{length: time.Second, rate: 200}
			if tt.key == "failed_timeout" {
				l.patience = time.Second
			}
			m := f.measure(l, nil)
			if l.patience > 0 && !m.quiet() {
				return // others may have lost it too
			}
			want := map[string]float64{"failed_refused": 0, "failed_reset": 0, "failed_closed": 0, "failed_timeout": 0, "failed_wrong": 0, "failed_other": 0}
			want["attempts"], want["failed"], want[tt.key] = 200, 20, 20
			m.exactly(want)
			if len(m.passed) != 180 {
				t.Errorf("%d were served", len(m.passed))
			}
		})
	}
}

func TestTwoBytesThatAreSwappedOnceAreOneFailure(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	var once atomic.Bool
	f.answer = func(_ net.Conn, session uint64, _ uint32, b []byte) verdict {
		if session == anySession+57 && once.CompareAndSwap(false, true) {
			b[40], b[41] = b[41], b[40]
		}
		return pass
	}
	f.measure(loads{length: time.Second, rate: 100}, nil).exactly(map[string]float64{"attempts": 100, "failed": 1, "failed_wrong": 1})
}

func TestClientsThatAreRefusedAreCounted(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	var down Outage
	m := f.measure(loads{length: 1500 * time.Millisecond, rate: 200}, func() []Outage {
		f.at(500 * time.Millisecond)
		_ = f.ln.Close()
		down.From = f.now()
		f.at(time.Second)
		down.To = f.now()
		f.listen()
		return nil
	})
	// A connection that waited to be accepted when that ended is reset.
	v := m.Values
	failed := float64(300 - len(m.passed))
	if v["failed"] != failed || v["failed_refused"]+v["failed_reset"] != failed || v["failed_refused"] == 0 {
		t.Errorf("%v were not served, %v", failed, v)
	}
	refused := float64(down.To-down.From) / float64(5*time.Millisecond)
	if slack := 2 + float64(m.slack()/(5*time.Millisecond)); m.quiet() && (failed < refused-slack || failed > refused+slack) {
		t.Errorf("%v were refused or reset of the %.1f due meanwhile", failed, refused)
	}
}

func TestAStallOfTwoSecondsDelaysExactlyThoseWhoWereDueInIt(t *testing.T) {
	t.Parallel()
	const every = 50 * time.Millisecond
	f := newFake(t, 2)
	// From client 20 on, until 2.025 s after it was due: in the middle between two.
	until := 20*every + 2025*time.Millisecond
	f.answer = func(_ net.Conn, session uint64, _ uint32, _ []byte) verdict {
		if session >= anySession+20 && f.now() < until {
			f.at(until)
		}
		return pass
	}
	m := f.measure(loads{length: 4 * time.Second, rate: float64(time.Second / every)}, nil)
	m.exactly(map[string]float64{"attempts": 80, "failed": 0})
	m.late("late_50", m.Values["late_50"], late50)
	m.late("late_250", m.Values["late_250"], late250)
	m.late("late_1000", m.Values["late_1000"], late1000)
	if m.noise < 20*time.Millisecond { // 25 from the next limit
		m.exactly(map[string]float64{"late_50": 40, "late_250": 36, "late_1000": 21})
	}
	m.about("worst_ms", 2025*time.Millisecond)
	m.about("gap_ms", 2025*time.Millisecond+every)
}

// C93: what came in the freeze is counted from when it was due, not from when it could be sent.
func TestAFreezeOfTwoSecondsAtTwoHundredClientsASecondIsNotHidden(t *testing.T) {
	for _, tt := range []struct {
		name     string
		patience time.Duration
	}{{"patient", 0}, {"impatient", time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 2)
			var froze, length time.Duration
			m := f.measure(loads{length: 4 * time.Second, rate: 200, patience: tt.patience}, func() []Outage {
				f.at(time.Second)
				f.gate.Lock()
				froze = f.now()
				f.at(froze + 2*time.Second)
				length = f.now() - froze
				f.gate.Unlock()
				return nil
			})
			m.exactly(map[string]float64{"attempts": 800, "failed": m.Values["failed_timeout"]})
			m.late("delayed or failed", m.Values["late_50"]+m.Values["failed"], late50)
			if hit := m.Values["late_50"] + m.Values["failed"]; m.quiet() && hit < 385 {
				t.Errorf("%v were delayed or failed of about 390 that were due until 50 ms before its end", hit)
			}
			m.about("gap_ms", length)
			if tt.patience > 0 {
				m.late("failed", m.Values["failed"], tt.patience)
				return
			}
			m.exactly(map[string]float64{"failed": 0})
			m.late("late_1000", m.Values["late_1000"], late1000)
			if m.about("worst_ms", length); m.Values["worst_ms"] < 1990 { // due at most 5 ms after its begin
				t.Errorf("worst was %v ms in a freeze of %v", m.Values["worst_ms"], length)
			}
		})
	}
}

func TestWhatHappensToLongSessionsIsCounted(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	var held time.Duration
	f.answer = func(c net.Conn, session uint64, number uint32, b []byte) verdict {
		if session < talkSession || number != 10 {
			return pass
		}
		switch session - talkSession {
		case 0: // swapped
			b[40], b[41] = b[41], b[40]
		case 1: // doubled
			_, _ = c.Write(b)
		case 2: // lost
			return lose
		case 3: // cut
			talk.Reset(c)
			return end
		case 4: // ended
			return end
		case 5: // stuck
			began := f.now()
			f.at(began + 800*time.Millisecond)
			held = f.now() - began
		}
		return pass
	}
	m := f.measure(loads{length: 2500 * time.Millisecond, rate: 50, talks: 8}, nil)
	m.exactly(map[string]float64{"attempts": 125, "failed": 0, "lost_wrong": 3, "lost_alive": 2})
	if m.quiet() {
		m.exactly(map[string]float64{"stuck": 1})
	}
	m.about("stuck_ms", held)
	if len(m.Talks) != 8+5 {
		t.Errorf("%d long sessions: %+v", len(m.Talks), m.Talks)
	}
}

// dying is a fake of three backends that goes on sending to the first for 1.5 s after its
// death, and not again before 0.7 s after its return. Then it prefers the last.
type dying struct {
	*fake
	phase atomic.Int32
}

// Phases of a dying fake.
const (
	fresh int32 = iota
	avoiding
	again
)

func (d *dying) choose(session uint64) int {
	n, phase := int(session&(1<<32-1)), d.phase.Load()
	if session >= hashedSession && session < talkSession {
		source := n % 30
		if phase != fresh && (source%3 == 0 || source == 1 || source == 8) { // of which two had no reason
			return 1 + source%2
		}
		return source % 3
	}
	switch phase {
	case avoiding:
		return 1 + n%2
	case again:
		return []int{0, 1, 2, 2}[n%4]
	}
	return n % 3
}

func (d *dying) die() []Outage {
	out := Outage{Ends: true}
	d.at(time.Second)
	out.From = d.now()
	d.backends[0].end()
	d.at(out.From + 1500*time.Millisecond)
	d.phase.Store(avoiding)
	d.at(3500 * time.Millisecond)
	d.backends[0].start()
	out.To = d.now()
	d.at(out.To + 700*time.Millisecond)
	d.phase.Store(again)
	return []Outage{out}
}

func TestABackendThatIsSentClientsForAWhileAfterItsDeathIsMeasured(t *testing.T) {
	t.Parallel()
	d := &dying{fake: newFake(t, 3)}
	d.pick = d.choose
	m := d.measure(loads{length: 6 * time.Second, rate: 150, hashed: 30, hashedASecond: 60, talks: 6}, d.die)
	out := m.Outages[0]
	failed, last := 0, time.Duration(0)
	for _, v := range m.saw.any {
		if m.cut[v.Session] {
			failed, last = failed+1, v.Due
		}
	}
	if m.quiet() && failed < 70 {
		t.Errorf("only %d were sent to the dead", failed)
	}
	m.exactly(map[string]float64{
		"attempts": 900, "failed": float64(failed), "failed_reset": float64(failed), "lost_alive": 0, "lost_wrong": 0, "moved_share": 0.1,
	})
	m.about("recover_ms", 700*time.Millisecond)
	if m.Values["late_50"] == 0 { // else the machine made somebody late, and that may count
		m.exactly(map[string]float64{"detect_ms": millis(last - out.From)})
		m.about("detect_ms", 1500*time.Millisecond)
	}
	if got := m.Values["imbalance"]; got < 0.65 || got > 0.85 {
		t.Errorf("imbalance is %v, was 0.75", got)
	}
	ended := slices.DeleteFunc(slices.Clone(m.Talks), func(e TalkEnd) bool { return e.Failure == "" || e.Backend < 0 })
	if len(ended) != 2 || ended[0].Backend != 0 || ended[1].Backend != 0 {
		t.Errorf("%+v ended, not the two of backend 0", ended)
	}
}

func TestNothingIsFoundWhereNothingIsWrong(t *testing.T) {
	t.Parallel()
	m := newFake(t, 2).measure(loads{length: time.Second, rate: 200, hashed: 10, hashedASecond: 50, talks: 4}, nil)
	m.exactly(map[string]float64{"attempts": 200, "failed": 0, "lost_alive": 0, "lost_wrong": 0})
	if m.quiet() {
		m.exactly(map[string]float64{"stuck": 0})
	}
	m.late("late_50", m.Values["late_50"], late50)
	m.about("gap_ms", 5*time.Millisecond)
	for key := range maps.Keys(m.Values) {
		if slices.Contains([]string{"detect_ms", "recover_ms", "moved_share"}, key) {
			t.Errorf("%s without an outage", key)
		}
	}
	if len(m.Buckets) != 20 || m.Buckets[7].Served != 10 || m.Buckets[7].Backends[0] != 5 {
		t.Errorf("%+v", m.Buckets)
	}
}
