package fault

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestEveryFaultIsFoundByItsName(t *testing.T) {
	all := Faults()
	if len(all) != 12 {
		t.Errorf("%d faults", len(all))
	}
	for _, f := range all {
		if got, err := ParseFault(string(f)); got != f || err != nil {
			t.Errorf("%s: %q, %v", f, got, err)
		}
		if f.Title() == "" || f.Meaning() == "" || strings.HasSuffix(f.Meaning(), ".") {
			t.Errorf("%s: %q means %q", f, f.Title(), f.Meaning())
		}
		if step := f.Step(); step != step.Step() || f.Ends() != step.Ends() || f.Silences() != step.Silences() {
			t.Errorf("%s is not what its step %s is", f, step)
		}
	}
}

func TestAnUnknownFaultIsToldWhichThereAre(t *testing.T) {
	for _, name := range []string{"", "klil", "Kill", "kill "} {
		_, err := ParseFault(name)
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "kill, exit, stop, refuse, blackhole, reset, slow, mute, half-open, flap, all-down, rolling") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if f := Fault("klil"); f.Title() != "" || f.Meaning() != "" || f.Ends() || f.Silences() || f.Step() != f {
		t.Errorf("%q is something", f)
	}
}

func TestAMessageWaitsInAPeriodFromThere(t *testing.T) {
	from := time.Now()
	at := func(ms int) time.Time { return from.Add(time.Duration(ms) * time.Millisecond) }
	tests := []struct {
		name       string
		to         int // 0 = still
		came, read int
		want       int // -1 = not in it
	}{
		{"in it", 100, 50, 50, 50},
		{"read before it", 100, -5, -1, -1},
		{"at its first instant", 100, 0, 0, 0},
		{"at its last", 100, 100, 100, -1},
		{"after it", 100, 101, 102, -1},
		{"came in it, read after", 100, 50, 120, 50},
		{"came before, read after", 100, -5, 120, 0},
		{"still", 0, 5000, 5001, 5000},
		{"before what lasts still", 0, -2, -1, -1},
	}
	for _, tt := range tests {
		p := Period{From: from}
		if tt.to != 0 {
			p.To = at(tt.to)
		}
		got, ok := p.holds(at(tt.came), at(tt.read))
		if ok != (tt.want >= 0) || ok && !got.Equal(at(tt.want)) {
			t.Errorf("%s: %v, %v", tt.name, got.Sub(from), ok)
		}
	}
}

func TestTheClocksAgree(t *testing.T) {
	c := readClock()
	for range 1000 {
		before, now := time.Now(), c.when(monotonic())
		if after := time.Now(); now.Before(before.Add(-time.Millisecond)) || now.After(after.Add(time.Millisecond)) {
			t.Fatalf("%v before, %v after", now.Sub(before), after.Sub(now))
		}
	}
}
