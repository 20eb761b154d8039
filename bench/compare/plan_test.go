package compare

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTimeIsDividedAmongMeasurements(t *testing.T) {
	tests := []struct {
		name      string
		duration  time.Duration
		rounds    int
		workloads []Workload
		sessions  int
		wantPlan  [3]int // rounds, timed, idle
	}{
		{"a minute of everything", time.Minute, 0, Workloads(), 3000, [3]int{3, 32, 3}},
		{"much time", 10 * time.Minute, 0, Workloads(), 3000, [3]int{5, 32, 3}},
		{"just enough", 14 * time.Second, 0, Workloads(), 3000, [3]int{1, 32, 3}},
		{"rounds as asked for", 10 * time.Minute, 2, Workloads(), 3000, [3]int{2, 32, 3}},
		{"one workload", 10 * time.Second, 0, []Workload{Connection}, 0, [3]int{5, 4, 0}},
		{"idle alone", time.Minute, 0, []Workload{Idle}, 3000, [3]int{5, 0, 3}},
		{"idle alone, short", 15 * time.Second, 0, []Workload{Idle}, 3000, [3]int{2, 0, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := newPlan(Config{Balancers: three(), Duration: tt.duration, Rounds: tt.rounds}, tt.workloads, tt.sessions)
			if got := [3]int{p.rounds, p.timed, p.idle}; err != nil || got != tt.wantPlan {
				t.Errorf("%v, %v", got, err)
			}
			slice := p.slice(tt.duration-startTakes, p.rounds*p.timed, p.rounds*p.idle)
			if total := p.takes(p.rounds, slice); total > tt.duration {
				t.Errorf("a slice of %v takes %v", slice, total)
			}
			if tt.rounds == 0 && p.rounds > 1 && p.timed > 0 && slice < goodSlice {
				t.Errorf("%d rounds, though a slice has only %v", p.rounds, slice)
			}
		})
	}
}

func TestTooLittleTimeIsRefusedWithWhatIsNeeded(t *testing.T) {
	c := Config{Balancers: three(), Duration: 10 * time.Second, Rounds: 3}
	_, err := newPlan(c, Workloads(), 3000)
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "10s is too short for 3 × 35 measurements") {
		t.Fatalf("%v", err)
	}
	_, after, _ := strings.Cut(err.Error(), "give at least ")
	text, _, _ := strings.Cut(after, ",")
	if c.Duration, err = time.ParseDuration(text); err != nil {
		t.Fatal(err)
	}
	if _, err := newPlan(c, Workloads(), 3000); err != nil {
		t.Errorf("what it said is not enough: %v", err)
	}
	c.Duration -= 2 * time.Second
	if _, err := newPlan(c, Workloads(), 3000); err == nil {
		t.Error("what it said is too much")
	}
}

func TestASliceShrinksAsMeasurementsTakeLonger(t *testing.T) {
	p, err := newPlan(Config{Balancers: three(), Duration: time.Minute}, Workloads(), 3000)
	if err != nil {
		t.Fatal(err)
	}
	before := p.slice(30*time.Second, 32, 3)
	for range 30 {
		p.idleTime.add(5 * time.Second)
	}
	after := p.slice(30*time.Second, 32, 3)
	for range 30 {
		p.stepExtra.add(time.Second)
	}
	last := p.slice(30*time.Second, 32, 3)
	if !(before > after && after > last) || last != leastSlice/2 {
		t.Errorf("%v, %v, %v", before, after, last)
	}
	if s := p.slice(time.Hour, 1, 0); s != mostSlice {
		t.Errorf("with an hour left: %v", s)
	}
	if s := p.slice(time.Second, 0, 3); s != 0 {
		t.Errorf("with nothing left to measure: %v", s)
	}
}

func TestAMeanIsThatOfWhatItWasTold(t *testing.T) {
	var m mean
	if m.value() != 0 {
		t.Errorf("of nothing: %v", m.value())
	}
	for _, d := range []time.Duration{1, 2, 6} {
		m.add(d * time.Second)
	}
	if m.value() != 3*time.Second {
		t.Errorf("%v", m.value())
	}
}
