package failover

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
)

const ms = time.Millisecond

// each10 are clients, one each 10 ms of a second, served in 1 ms by the two backends in turn.
func each10(change func(i int, v *load.Visit)) []load.Visit {
	var all []load.Visit
	for i := range 100 {
		v := load.Visit{Due: time.Duration(i) * 10 * ms, Took: ms, Session: uint64(i), Backend: i % 2}
		if change != nil {
			change(i, &v)
		}
		all = append(all, v)
	}
	return all
}

// fail makes a client fail.
func fail(v *load.Visit, f load.Failure) { v.Backend, v.Failure = -1, f }

func TestFiguresOfClients(t *testing.T) {
	kinds := []load.Failure{load.Refused, load.Reset, load.Closed, load.Timeout, load.Wrong, load.Other}
	all := map[string]float64{
		"attempts": 100, "failed": 0, "failed_refused": 0, "failed_reset": 0, "failed_closed": 0, "failed_timeout": 0, "failed_wrong": 0,
		"failed_other": 0, "late_50": 0, "late_250": 0, "late_1000": 0, "worst_ms": 1, "behind_ms": 0, "gap_ms": 10, "imbalance": 0,
	}
	for _, tt := range []struct {
		name   string
		change func(i int, v *load.Visit)
		want   map[string]float64 // what is other than in all
	}{
		{"nothing", nil, nil},
		{"one of each kind, two resets", func(i int, v *load.Visit) {
			if i >= 40 && i < 46 {
				fail(v, kinds[i-40])
			} else if i == 60 {
				fail(v, load.Reset)
			}
		}, map[string]float64{
			"failed": 7, "failed_refused": 1, "failed_reset": 2, "failed_closed": 1, "failed_timeout": 1, "failed_wrong": 1, "failed_other": 1,
			"gap_ms": 70, "imbalance": 1 / 46.5,
		}},
		{"at and over each limit", func(i int, v *load.Visit) {
			if took, ok := map[int]time.Duration{10: 50 * ms, 11: 51 * ms, 12: 250 * ms, 13: 251 * ms, 14: time.Second, 15: 1001 * ms}[i]; ok {
				v.Took = took
			}
		}, map[string]float64{"late_50": 5, "late_250": 3, "late_1000": 1, "worst_ms": 1001, "gap_ms": 59}}, // after 9, at 91 ms, comes 10, at 150
		{"all failed late", func(_ int, v *load.Visit) { fail(v, load.Timeout); v.Took = 5 * time.Second },
			map[string]float64{"failed": 100, "failed_timeout": 100, "worst_ms": 0, "gap_ms": 990, "imbalance": -1}},
		{"the load was behind", func(i int, v *load.Visit) {
			if i == 3 {
				v.Late, v.Took = 7*ms, 8*ms
			}
		}, map[string]float64{"behind_ms": 7, "worst_ms": 8, "gap_ms": 17}},
		{"nobody at the end", func(i int, v *load.Visit) {
			if i >= 80 {
				v.Took = 3 * time.Second
			}
		}, map[string]float64{"late_50": 20, "late_250": 20, "late_1000": 20, "worst_ms": 3000, "gap_ms": 199}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := maps.Clone(all)
			maps.Copy(want, tt.want)
			maps.DeleteFunc(want, func(_ string, v float64) bool { return v < 0 })
			var r Run
			observed{any: each10(tt.change), backends: 2, length: time.Second}.fill(&r)
			if !reflect.DeepEqual(r.Values, want) {
				t.Errorf("%v\nnot\n%v", r.Values, want)
			}
		})
	}
}

func TestNothingWasOffered(t *testing.T) {
	for _, o := range []observed{{}, {backends: 3, length: time.Second, outages: []Outage{{Backend: 1, From: 100 * ms}}}} {
		var r Run
		o.fill(&r)
		for _, key := range []string{"gap_ms", "moved_share", "lost_alive", "recover_ms", "imbalance"} {
			if v, ok := r.Values[key]; ok {
				t.Errorf("%s is %v", key, v)
			}
		}
		if r.Values["attempts"] != 0 || r.Values["detect_ms"] != 0 {
			t.Errorf("%v", r.Values)
		}
	}
}

func TestDetection(t *testing.T) {
	one := []Outage{{Backend: 0, From: 205 * ms, To: 805 * ms}}
	on := func(which int, f func(*load.Visit)) func(int, *load.Visit) {
		return func(i int, v *load.Visit) {
			if i == which {
				f(v)
			}
		}
	}
	failed := func(v *load.Visit) { fail(v, load.Reset) }
	late := func(v *load.Visit) { v.Took = 60 * ms }
	noisy := func(i int, v *load.Visit) {
		if i == 3 {
			v.Took = 40 * ms
		}
		if i == 30 {
			v.Took = 79 * ms
		}
		if i == 40 {
			v.Took = 81 * ms
		}
	}
	for _, tt := range []struct {
		name    string
		outages []Outage
		change  func(int, *load.Visit)
		reached map[uint64]bool
		want    float64
		never   bool
	}{
		{"nobody noticed", one, nil, nil, 0, false},
		{"one failed", one, on(30, failed), nil, 95, false},
		{"one was late", one, on(40, late), nil, 195, false},
		{"one was late, as the load was", one, on(40, func(v *load.Visit) { v.Late, v.Took = 55*ms, 100*ms }), nil, 0, false},
		{"one was late, more than the load", one, on(40, func(v *load.Visit) { v.Late, v.Took = 55*ms, 106*ms }), nil, 195, false},
		{"one reached it", one, nil, map[uint64]bool{33: true}, 125, false},
		{"due just before", one, on(20, failed), nil, 0, false},
		{"due after its end", one, on(81, failed), nil, 0, false},
		{"until its end", one, on(79, failed), nil, 585, true},
		{"not ended", []Outage{{From: 205 * ms}}, on(99, failed), nil, 785, true},
		{"late as before is the machine's", one, noisy, nil, 195, false},
		{"the longest of two", []Outage{{From: 105 * ms, To: 205 * ms}, {Backend: 1, From: 305 * ms, To: 505 * ms}}, func(i int, v *load.Visit) {
			if i == 12 || i == 32 {
				failed(v)
			}
		}, nil, 15, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := observed{any: each10(tt.change), outages: tt.outages, reached: tt.reached, backends: 2, length: time.Second}.detection()
			if v["detect_ms"] != tt.want || (v["detect_never"] == 1) != tt.never {
				t.Errorf("%v, not %v (%t)", v, tt.want, tt.never)
			}
		})
	}
}

func TestRecovery(t *testing.T) {
	// away keeps backend 0 from all clients from..to.
	away := func(from, to int) func(int, *load.Visit) {
		return func(i int, v *load.Visit) {
			if i >= from && i < to {
				v.Backend = 1
			}
		}
	}
	for _, tt := range []struct {
		name    string
		outages []Outage
		change  func(int, *load.Visit)
		want    map[string]float64
	}{
		{"at once", []Outage{{From: 205 * ms, To: 495 * ms}}, away(20, 50), map[string]float64{"recover_ms": 5}},
		{"later", []Outage{{From: 205 * ms, To: 495 * ms}}, away(20, 61), map[string]float64{"recover_ms": 125}},
		{"never", []Outage{{From: 205 * ms, To: 495 * ms}}, away(20, 100), map[string]float64{"recover_never": 1}},
		{"never mended", []Outage{{From: 205 * ms}}, away(20, 100), map[string]float64{}},
		{"of two, the first too short", []Outage{{From: 205 * ms, To: 305 * ms}, {From: 405 * ms, To: 495 * ms}}, away(20, 55), map[string]float64{"recover_ms": 65}},
		{"longest of two backends", []Outage{{From: 205 * ms, To: 495 * ms}, {Backend: 1, From: 205 * ms, To: 415 * ms}}, away(20, 50), map[string]float64{"recover_ms": 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := observed{any: each10(tt.change), outages: tt.outages, backends: 2, length: time.Second}.recovery()
			if !reflect.DeepEqual(v, tt.want) {
				t.Errorf("%v, not %v", v, tt.want)
			}
		})
	}
}

func TestMovedClients(t *testing.T) {
	hashed := func(visits ...[3]int) (all []load.Visit) { // when in ms, source, backend
		for _, v := range visits {
			visit := load.Visit{Due: time.Duration(v[0]) * ms, Took: ms, Source: v[1], Backend: v[2]}
			if v[2] < 0 {
				fail(&visit, load.Timeout)
			}
			all = append(all, visit)
		}
		return all
	}
	out := []Outage{{Backend: 0, From: 500 * ms, To: 700 * ms}}
	all := []Outage{{Backend: 0, From: 500 * ms}, {Backend: 1, From: 600 * ms}}
	for _, tt := range []struct {
		name    string
		outages []Outage
		hashed  []load.Visit
		want    float64 // negative = missing
	}{
		{"nobody", out, hashed([3]int{0, 0, 0}, [3]int{1, 1, 1}, [3]int{600, 0, 1}, [3]int{601, 1, 1}), 0},
		{"one of two, and is back", out, hashed([3]int{0, 1, 1}, [3]int{1, 2, 1}, [3]int{600, 1, 2}, [3]int{800, 1, 1}, [3]int{801, 2, 1}), 0.5},
		{"after its end too", out, hashed([3]int{0, 1, 1}, [3]int{900, 1, 0}), 1},
		{"who failed has not moved", out, hashed([3]int{0, 1, 1}, [3]int{600, 1, -1}), 0},
		{"home is the last before", out, hashed([3]int{0, 1, 2}, [3]int{400, 1, 1}, [3]int{600, 1, 1}), 0},
		{"who came later has no home", out, hashed([3]int{510, 1, 2}, [3]int{600, 1, 1}), -1},
		{"every home was broken", all, hashed([3]int{0, 0, 0}, [3]int{1, 1, 1}, [3]int{650, 0, 1}), -1},
		{"no outage", nil, hashed([3]int{0, 0, 0}, [3]int{500, 0, 1}), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, ok := observed{hashed: tt.hashed, outages: tt.outages, backends: 3, length: time.Second}.moved()["moved_share"]
			if ok != (tt.want >= 0) || ok && v != tt.want {
				t.Errorf("%v (%t), not %v", v, ok, tt.want)
			}
		})
	}
}

func TestLongSessions(t *testing.T) {
	kill := []Outage{{Backend: 0, From: 400 * ms, To: 700 * ms, Ends: true}}
	stop := []Outage{{Backend: 0, From: 400 * ms, To: 700 * ms, Silences: true}}
	slow := []Outage{{Backend: 0, From: 400 * ms, To: 700 * ms}}
	talk := func(began, ended, backend int, f load.Failure) load.Talk {
		return load.Talk{Began: time.Duration(began) * ms, Ended: time.Duration(ended) * ms, Backend: backend, Sent: 1, Failure: f}
	}
	for _, tt := range []struct {
		name    string
		outages []Outage
		talk    load.Talk
		lost    float64
		wrong   float64
	}{
		{"lived", kill, talk(0, 1000, 0, ""), 0, 0},
		{"ended with its backend", kill, talk(0, 405, 0, load.Reset), 0, 0},
		{"its end was seen before it was told", kill, talk(0, 350, 0, load.Reset), 0, 0},
		{"ended late, with its backend", kill, talk(0, 900, 0, load.Closed), 0, 0},
		{"ended long before", kill, talk(0, 200, 0, load.Reset), 1, 0},
		{"began after", kill, talk(750, 900, 0, load.Reset), 1, 0},
		{"of another backend", kill, talk(0, 405, 1, load.Reset), 1, 0},
		{"nobody had answered", kill, talk(0, 405, -1, load.Refused), 0, 0},
		{"given up while it was silent", stop, talk(0, 650, 0, load.Reset), 0, 0},
		{"given up when it spoke again", stop, talk(0, 900, 0, load.Reset), 1, 0},
		{"cut though it was only slow", slow, talk(0, 500, 0, load.Closed), 1, 0},
		{"wrong is never excused", kill, talk(0, 405, 0, load.Wrong), 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := observed{talks: []load.Talk{tt.talk}, outages: tt.outages, length: time.Second}.sessions()
			if v["lost_alive"] != tt.lost || v["lost_wrong"] != tt.wrong {
				t.Errorf("%v", v)
			}
		})
	}
}

func TestStuckSessionsAndTheirLongestWait(t *testing.T) {
	o := observed{length: 5 * time.Second, talks: []load.Talk{
		{Client: 0, Sent: 9, Backend: 1, Ended: 5 * time.Second, Waits: []load.Span{{From: 100 * ms, To: 900 * ms}, {From: time.Second, To: 2500 * ms}}},
		{Client: 1, Sent: 9, Backend: 0, Ended: 3 * time.Second, Failure: load.Reset, Waits: []load.Span{{From: 2 * time.Second, To: 3 * time.Second}}},
		{Client: 2, Sent: 9, Backend: 0, Ended: 5 * time.Second},
		{Client: 3, Began: 5 * time.Second, Ended: 5 * time.Second, Backend: -1},
	}}
	want := map[string]float64{"stuck": 2, "stuck_ms": 1500, "lost_alive": 1, "lost_wrong": 0}
	if got := o.sessions(); !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	ends := []TalkEnd{
		{Ended: 5 * time.Second, Backend: 1, Stuck: 1500 * ms, StuckAt: time.Second},
		{Ended: 3 * time.Second, Failure: "reset", Stuck: time.Second, StuckAt: 2 * time.Second},
		{Ended: 5 * time.Second},
	}
	if got := o.talkEnds(); !slices.Equal(got, ends) {
		t.Errorf("%+v", got)
	}
}

func TestImbalanceIsThatAfterRecovery(t *testing.T) {
	// 4 s, 100 a second: backend 0 is away from 1 s to 1.7 s, has all until 2.2 s, then a quarter.
	var any []load.Visit
	for i := range 400 {
		v := load.Visit{Due: time.Duration(i) * 10 * ms, Took: ms, Backend: 1}
		if i < 100 || i >= 170 && i < 220 || i%4 == 0 && i >= 220 {
			v.Backend = 0
		}
		any = append(any, v)
	}
	for _, tt := range []struct {
		name    string
		outages []Outage
		length  time.Duration
		want    float64 // negative = missing
	}{
		{"half a second after its return", []Outage{{From: time.Second, To: 1500 * ms}}, 4 * time.Second, 1},
		{"too little is left", []Outage{{From: time.Second, To: 1500 * ms}}, 3 * time.Second, -1},
		{"too few are left", []Outage{{From: time.Second, To: 3200 * ms}}, 5 * time.Second, -1},
		{"not mended", []Outage{{From: time.Second}}, 4 * time.Second, -1},
		{"it never came back", []Outage{{Backend: 2, From: time.Second, To: 1500 * ms}}, 4 * time.Second, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, ok := observed{any: any, outages: tt.outages, backends: 2, length: tt.length}.imbalance()["imbalance"]
			if ok != (tt.want >= 0) || ok && v != tt.want {
				t.Errorf("%v (%t), not %v", v, ok, tt.want)
			}
		})
	}
}

func TestBucketsHoldWhoWasDueInThem(t *testing.T) {
	got := observed{any: each10(func(i int, v *load.Visit) {
		if i == 5 {
			fail(v, load.Reset)
		}
		if i == 6 {
			v.Took = 51 * ms
		}
	}), backends: 2, length: 120 * ms}.buckets()
	want := []Bucket{{Served: 5, Backends: []int{3, 2}}, {Served: 4, Late: 1, Failed: 1, Backends: []int{2, 2}}, {Served: 90, Backends: []int{45, 45}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// FuzzFiguresAgree offers anything: what is counted in two ways is the same both ways.
func FuzzFiguresAgree(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		o := anything(rand.New(rand.NewPCG(seed, 1)))
		var r Run
		o.fill(&r)
		v := r.Values
		served, failed, late := 0, 0, 0
		for _, b := range r.Buckets {
			served, failed, late = served+b.Served, failed+b.Failed, late+b.Late
			by := 0
			for _, n := range b.Backends {
				by += n
			}
			if by > b.Served || b.Late > b.Served {
				t.Errorf("%+v", b)
			}
		}
		kinds := v["failed_refused"] + v["failed_reset"] + v["failed_closed"] + v["failed_timeout"] + v["failed_wrong"] + v["failed_other"]
		if float64(served+failed) != v["attempts"] || float64(failed) != v["failed"] || kinds != v["failed"] || float64(late) != v["late_50"] {
			t.Errorf("%d served, %d failed, %d late in the buckets; %v", served, failed, late, v)
		}
		if v["late_50"] < v["late_250"] || v["late_250"] < v["late_1000"] || v["gap_ms"] > millis(o.length) {
			t.Errorf("%v", v)
		}
		if v["moved_share"] > 1 || v["imbalance"] > float64(o.backends) || v["detect_ms"] > millis(o.length) || v["stuck"]+v["lost_alive"] > 2*float64(len(o.talks)) {
			t.Errorf("%v", v)
		}
		for key, x := range v {
			if x < 0 || x != x {
				t.Errorf("%s is %v", key, x)
			}
		}
	})
}

// anything is a run in which anything happened.
func anything(r *rand.Rand) observed {
	o := observed{backends: r.IntN(4), length: time.Duration(1+r.IntN(5000)) * ms, reached: map[uint64]bool{}}
	visits := func() (all []load.Visit) {
		n := r.IntN(300)
		for i := range n {
			v := load.Visit{Due: o.length * time.Duration(i) / time.Duration(n), Took: time.Duration(r.IntN(1500)) * ms, Session: uint64(i), Source: r.IntN(9), Backend: r.IntN(4) - 1}
			if r.IntN(3) == 0 {
				fail(&v, []load.Failure{load.Refused, load.Reset, load.Closed, load.Timeout, load.Wrong, load.Other}[r.IntN(6)])
			}
			o.reached[uint64(i)] = r.IntN(20) == 0
			all = append(all, v)
		}
		return all
	}
	o.any, o.hashed = visits(), visits()
	for range r.IntN(4) {
		out := Outage{Backend: r.IntN(3), From: time.Duration(r.Int64N(int64(o.length))), Ends: r.IntN(2) == 0, Silences: r.IntN(2) == 0}
		if r.IntN(3) > 0 {
			out.To = out.From + 1 + time.Duration(r.Int64N(int64(o.length-out.From)))
		}
		o.outages = append(o.outages, out)
	}
	for i := range r.IntN(10) {
		began := time.Duration(r.Int64N(int64(o.length)))
		s := load.Talk{Client: i, Began: began, Ended: o.length, Sent: r.IntN(3), Backend: r.IntN(4) - 1}
		if r.IntN(2) == 0 {
			s.Ended, s.Failure = began+(o.length-began)/2, load.Reset
		}
		if r.IntN(2) == 0 {
			s.Waits = []load.Span{{From: began, To: s.Ended}}
		}
		o.talks = append(o.talks, s)
	}
	return o
}

func TestATimeWithoutAnyBackendHasNoDetection(t *testing.T) {
	second := time.Second
	visits := []load.Visit{{Due: 2500 * time.Millisecond, Took: second, Failure: load.Closed, Backend: -1}}
	both := []Outage{{Backend: 0, From: 2 * second, To: 3 * second, Ends: true}, {Backend: 1, From: 2 * second, To: 3 * second, Ends: true}}
	if v := (observed{any: visits, outages: both, backends: 2, length: 4 * second}).detection(); len(v) > 0 {
		t.Errorf("both: %v", v)
	}
	later := []Outage{both[0], {Backend: 1, From: 3 * second, To: 3500 * time.Millisecond, Ends: true}} // one after the other
	if v := (observed{any: visits, outages: later, backends: 2, length: 4 * second}).detection(); v["detect_ms"] != 500 {
		t.Errorf("one after the other: %v", v)
	}
}

func TestLongSessionsOfASystemThatIsObservedCountWhenTheyEnd(t *testing.T) {
	talks := []load.Talk{
		{Backend: -1, Sent: 5, Answered: 5},
		{Backend: -1, Sent: 5, Answered: 4, Failure: load.Reset},
		{Backend: -1, Sent: 1, Failure: load.Refused}, // it was none
		{Backend: -1, Sent: 5, Answered: 4, Failure: load.Wrong},
	}
	v := observed{talks: talks, length: time.Second}.sessions()
	if v["lost"] != 1 || v["lost_wrong"] != 1 || v["lost_alive"] != 0 {
		t.Errorf("%v", v)
	}
}
