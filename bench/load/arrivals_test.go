package load

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/talk"
)

// serveTalk answers as backend 3 until the test ends.
func serveTalk(t *testing.T) string {
	t.Helper()
	return serve(t, func(c net.Conn) { talk.ServeConn(t.Context(), c, talk.Hooks{Backend: 3}) })
}

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestClientsComeWhenDueWhateverBecameOfThoseBefore(t *testing.T) {
	mute := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	a := Arrivals{Addr: serve(t, mute), Rate: 100, Sources: 7, Patience: 300 * time.Millisecond, Exchange: talk.Exchange, FirstSession: 1000}
	visits := a.Run(within(t, 500*time.Millisecond))
	if len(visits) != 50 {
		t.Fatalf("%d clients", len(visits))
	}
	for i, v := range visits {
		if v.Due != time.Duration(i)*10*time.Millisecond || v.Session != 1000+uint64(i) || v.Source != i%7 {
			t.Errorf("%d: %+v", i, v)
		}
		if v.Failure != Timeout || v.Backend != -1 || v.Took < a.Patience || v.Late < 0 {
			t.Errorf("%d: %+v", i, v)
		}
	}
}

func TestClientsThatAreServedTellByWhomAndComeFromTheirAddresses(t *testing.T) {
	var mu sync.Mutex
	sources := make(map[string]int)
	addr := serve(t, func(c net.Conn) {
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		mu.Lock()
		sources[host]++
		mu.Unlock()
		talk.ServeConn(t.Context(), c, talk.Hooks{Backend: 3})
	})
	var told []Visit
	a := Arrivals{Addr: addr, Rate: 200, Sources: 4, FirstSource: 2, Patience: 10 * time.Second, Exchange: talk.Exchange}
	a.Each = func(v Visit) { told = append(told, v) }
	visits := a.Run(within(t, 200*time.Millisecond))
	if len(visits) != 40 || len(told) != 40 {
		t.Fatalf("%d clients, %d were told of", len(visits), len(told))
	}
	for _, v := range visits {
		if v.Failure != "" || v.Err != nil || v.Backend != 3 || v.Took <= 0 {
			t.Errorf("%+v", v)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, host := range []string{"127.1.0.3", "127.1.0.4", "127.1.0.5", "127.1.0.6"} {
		if sourceOf(0) != nil && sources[host] != 10 {
			t.Errorf("%v", sources)
		}
	}
}

func TestClientsThatCouldNotBeStartedInTimeAreStartedLateAndNotLeftOut(t *testing.T) {
	a := Arrivals{Addr: serveTalk(t), Rate: 100, Patience: 10 * time.Second, Exchange: talk.Exchange}
	a.Since = time.Now().Add(-400 * time.Millisecond) // as if the process had been held up
	ctx, cancel := context.WithDeadline(t.Context(), a.Since.Add(300*time.Millisecond))
	defer cancel()
	visits := a.Run(ctx)
	if len(visits) != 30 {
		t.Fatalf("%d clients", len(visits))
	}
	for _, v := range visits {
		if v.Failure != "" || v.Late < 100*time.Millisecond || v.Took < v.Late {
			t.Errorf("%+v", v)
		}
	}
}

func TestArrivalsEndWhenTheyAreCut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := Arrivals{Addr: serveTalk(t), Rate: 1000, Patience: 10 * time.Second, Exchange: talk.Exchange}
	ended := 0
	a.Each = func(Visit) {
		if ended++; ended == 5 {
			cancel()
		}
	}
	if visits := a.Run(ctx); len(visits) < 5 || len(visits) != ended {
		t.Errorf("%d clients, %d were told of", len(visits), ended)
	}
}

func TestFailuresOfClientsThatCameAreOfAKind(t *testing.T) {
	first := func(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, talk.Size)) }
	for _, tt := range []struct {
		want   Failure
		answer func(net.Conn)
	}{
		{Closed, first},
		{Reset, func(c net.Conn) { first(c); reset(c) }},
		{Wrong, func(c net.Conn) { first(c); _, _ = c.Write(make([]byte, talk.Size)) }},
		{Wrong, func(c net.Conn) { first(c); _, _ = c.Write(talk.Answer(nil, 1<<40, 0, 0)) }},
		{Timeout, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
	} {
		a := Arrivals{Addr: serve(t, tt.answer), Rate: 50, Patience: 200 * time.Millisecond, Exchange: talk.Exchange}
		if tt.want != Timeout {
			a.Patience = 10 * time.Second
		}
		visits := a.Run(within(t, 100*time.Millisecond))
		if len(visits) != 5 || slices.ContainsFunc(visits, func(v Visit) bool { return v.Failure != tt.want || v.Err == nil }) {
			t.Errorf("%s: %+v", tt.want, visits)
		}
	}
}

func TestAnyProtocolIsExchangedOnce(t *testing.T) {
	a := Arrivals{Addr: serve(t, pongs), Rate: 50, Patience: 10 * time.Second, Exchange: Once(Redis())}
	visits := a.Run(within(t, 100*time.Millisecond))
	if len(visits) != 5 || slices.ContainsFunc(visits, func(v Visit) bool { return v.Failure != "" || v.Backend != -1 }) {
		t.Errorf("%+v", visits)
	}
}
