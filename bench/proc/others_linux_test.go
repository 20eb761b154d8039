package proc

import (
	"testing"
	"time"
)

func TestWhatOthersUseIsWhatIsNeitherIdleNorOurs(t *testing.T) {
	start := time.Now()
	earlier := Moment{at: start, busy: 100 * time.Second, own: 10 * time.Second, cores: 2}
	tests := []struct {
		name      string
		busy, own time.Duration
		want      float64
	}{
		{"nobody", 0, 0, 0},
		{"we alone", 4 * time.Second, 4 * time.Second, 0},
		{"others alone", 5 * time.Second, 0, 0.25},
		{"both", 20 * time.Second, 10 * time.Second, 0.5},
		{"ours is counted finer", 4 * time.Second, 4*time.Second + time.Millisecond, 0},
		{"a tick too much", 21 * time.Second, 0, 1},
	}
	for _, tt := range tests {
		m := Moment{at: start.Add(10 * time.Second), busy: earlier.busy + tt.busy, own: earlier.own + tt.own, cores: 2}
		if got := m.Others(earlier); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := earlier.Others(earlier); got != 0 {
		t.Errorf("in no time: %v", got)
	}
}

func TestOurOwnWorkIsNotOthers(t *testing.T) {
	before, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	burn(burned)
	p, _ := play(t, "burn")
	p.Stop(0)
	after, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	if own := after.own - before.own; own < 2*burned || after.busy-before.busy < 2*burned-2*tick {
		t.Errorf("own %v, busy %v, burned %v", own, after.busy-before.busy, 2*burned)
	}
}

func TestTheKernelsCountIsRead(t *testing.T) {
	const stat = "cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1 1 1 1\nintr 1 2 3\nctxt 5\n"
	busy, cores, err := busyTime(stat)
	if err != nil || cores != 2 || busy != 171*tick {
		t.Errorf("%v, %d cores, %v", busy, cores, err)
	}
	for _, bad := range []string{"", "intr 1 2 3", "cpu x 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1"} {
		if _, _, err := busyTime(bad); err == nil {
			t.Errorf("%q is no fault", bad)
		}
	}
}
