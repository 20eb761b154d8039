package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/api"
	"github.com/sluicelb/sluice/l4"
)

func TestEventsAreNumberedAndTheNewestAreKept(t *testing.T) {
	var e events
	if all, lost := e.after(0); len(all) != 0 || lost {
		t.Errorf("%v, %v", all, lost)
	}
	const n = 3*keptEvents + 7
	for i := range n {
		e.add(Event{Text: fmt.Sprint(i + 1)})
	}
	for _, c := range []struct {
		since uint64
		first uint64 // 0 = none
		lost  bool
	}{
		{0, n - keptEvents + 1, true},
		{n - keptEvents - 1, n - keptEvents + 1, true},
		{n - keptEvents, n - keptEvents + 1, false},
		{n - 1, n, false},
		{n, 0, false},
		{n + 1, n - keptEvents + 1, true}, // of the process before
		{1<<64 - 1, n - keptEvents + 1, true},
	} {
		all, lost := e.after(c.since)
		switch {
		case lost != c.lost, (len(all) == 0) != (c.first == 0), len(all) > 0 && (all[0].ID != c.first || all[len(all)-1].ID != n):
			t.Errorf("since %d: %d events, lost %v; want from %d, lost %v", c.since, len(all), lost, c.first, c.lost)
		}
		for i, ev := range all {
			if ev.Text != fmt.Sprint(ev.ID) || ev.ID != all[0].ID+uint64(i) || ev.Time.IsZero() {
				t.Fatalf("%+v at %d", ev, i)
			}
		}
	}
	if len(e.ring) > 2*keptEvents {
		t.Errorf("%d events are kept", len(e.ring))
	}
}

func TestEventsAreThoseOfOneServiceOnRequest(t *testing.T) {
	a := &App{}
	a.events.add(Event{Service: "web"})
	a.events.add(Event{Service: "db"})
	a.events.add(Event{})
	if got := a.Events(0, "db"); len(got.Events) != 1 || got.Events[0].ID != 2 || got.Lost {
		t.Errorf("%+v", got)
	}
	if got := a.Events(3, ""); got.Events == nil || len(got.Events) != 0 {
		t.Errorf("%+v", got)
	}
}

// follow collects n events, with how many were lost before each.
func follow(t *testing.T, a *App, since uint64, n int, each func()) (got []string) {
	t.Helper()
	stop := errors.New("enough")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := a.Follow(ctx, since, func(e Event, lost int) error {
		got = append(got, fmt.Sprintf("%d-%d", e.ID, lost))
		if each != nil {
			each()
		}
		if len(got) == n {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatalf("it ended with %v after %q", err, got)
	}
	return got
}

func TestWhoFollowsHearsThePastAndThenWhatComes(t *testing.T) {
	a := &App{stop: make(chan struct{})}
	for range 3 {
		a.events.add(Event{})
	}
	once := false
	got := follow(t, a, 1, 4, func() {
		if !once {
			once = true
			a.events.add(Event{})
			a.events.add(Event{})
		}
	})
	if strings.Join(got, " ") != "2-0 3-0 4-0 5-0" {
		t.Errorf("%q", got)
	}
	if n := len(a.events.followers); n != 0 {
		t.Errorf("%d followers are left", n)
	}
}

func TestWhoIsTooSlowIsToldHowManyAreLost(t *testing.T) {
	a := &App{stop: make(chan struct{})}
	a.events.add(Event{})
	const burst = followerQueue + 44
	fed := false
	got := follow(t, a, 0, followerQueue+2, func() {
		if !fed {
			fed = true
			for range burst {
				a.events.add(Event{})
			}
		} else if len(a.events.followers[0]) == 0 {
			a.events.add(Event{})
		}
	})
	if want := fmt.Sprintf("%d-%d", burst+2, 44); got[len(got)-1] != want {
		t.Errorf("the last one is %s, want %s", got[len(got)-1], want)
	}
}

func TestWhoAsksForWhatIsGoneHearsHowMuch(t *testing.T) {
	a := &App{stop: make(chan struct{})}
	for range keptEvents + 10 {
		a.events.add(Event{})
	}
	if got := follow(t, a, 4, 1, nil); got[0] != "11-6" {
		t.Errorf("%q", got)
	}
}

// Its number is of the process before this one.
func TestWhoFollowedAnotherProcessHearsAllOfThisOne(t *testing.T) {
	a := &App{stop: make(chan struct{})}
	a.events.add(Event{})
	if got := follow(t, a, 900, 1, nil); got[0] != "1-0" {
		t.Errorf("%q", got)
	}
	empty := &App{stop: make(chan struct{})}
	heard := make(chan []string, 1)
	go func() { heard <- follow(t, empty, 900, 1, nil) }()
	eventually(t, "it follows", func() bool {
		empty.events.mu.Lock()
		defer empty.events.mu.Unlock()
		return len(empty.events.followers) == 1
	})
	empty.events.add(Event{})
	if got := <-heard; got[0] != "1-0" {
		t.Errorf("%q", got)
	}
}

func TestFollowingEndsWithTheContext(t *testing.T) {
	a := &App{stop: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	none := func(Event, int) error { return nil }
	if err := a.Follow(ctx, 0, none); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestTheNewestFailuresAreKept(t *testing.T) {
	var f failures
	for i := range keptFailures + 5 {
		f.add(l4.Decision{Service: []string{"web", "db"}[i%2], Duration: time.Duration(i)})
	}
	all := f.newest("", 0)
	if len(all) != keptFailures || all[0].Duration != keptFailures+4 || all[len(all)-1].Duration != 5 {
		t.Errorf("%d, from %v to %v", len(all), all[0].Duration, all[len(all)-1].Duration)
	}
	if some := f.newest("db", 3); len(some) != 3 || some[0].Duration != keptFailures+3 || some[2].Duration != keptFailures-1 {
		t.Errorf("%+v", some)
	}
}

func TestEachKindOfEventIsTold(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	r := run(t, web(anyPort, a.yaml(), b.yaml()))
	eventually(t, "it is ready", func() bool { ok, _ := r.Ready(); return ok })
	if _, err := r.SetAdmin(someone, "web", "a", api.Drain); err != nil {
		t.Fatal(err)
	}
	r.becomes(web(anyPort, a.yaml()))
	seen := map[string]Event{}
	for _, e := range r.Events(0, "").Events {
		seen[e.Kind] = e
	}
	if e := seen["admin"]; e.Who != "ann" || e.Service != "web" || e.Backend != "a" || e.Text != "drained" {
		t.Errorf("%+v", e)
	}
	if e := seen["reload"]; e.Who != "test" || e.Text != "remove 1 backends" {
		t.Errorf("%+v", e)
	}
	if e := seen["transition"]; e.From == "" || e.To != "removed" || e.Source != "admin" {
		t.Errorf("%+v", e)
	}
	if e := seen["lifecycle"]; !strings.HasPrefix(e.Text, "ready: ") {
		t.Errorf("%+v", e)
	}
}
