package ratelimit

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleSourcesAreForgottenAsOthersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10, 0, 100)
		for i := range 100 {
			allowed(l, addr(i), 1+i%20) // some of them are over their rate
		}
		time.Sleep(time.Minute)
		for i := range 50 {
			l.Allow(addr(1000 + i))
		}
		checkLists(t, l)
		// Each newcomer takes two with it, as long as there are any of both kinds.
		if n := l.Sources(); n > 60 {
			t.Errorf("%d remembered, though 100 of them are idle", n)
		}
	})
}

func TestASourceOverItsRateIsNotForgottenForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10, 0, 64)
		bad := addr(1)
		allowed(l, bad, 11)
		for i := range 1000 {
			l.Allow(addr(100 + i))
		}
		if l.Allow(bad) {
			t.Error("a flood of others let a source in that is over its rate")
		}
	})
}

func TestTheOneSeenLongestAgoMakesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 2, 3)
		for i := range 3 {
			l.Allow(addr(i))
		}
		l.Allow(addr(0)) // seen again, and its bucket is empty
		l.Allow(addr(3)) // takes the place of 1
		if l.Allow(addr(0)) {
			t.Error("the source that was seen again was forgotten")
		}
		if n := allowed(l, addr(1), 3); n != 2 {
			t.Errorf("source 1 has %d tokens, not those of a newcomer", n)
		}
	})
}

func TestNewcomersAreLetInWhenAllPlacesAreOverTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1, 8)
		for i := range 8 {
			allowed(l, addr(i), 2)
		}
		honest := addr(100)
		if n := allowed(l, honest, 5); n != 5 || l.Sources() != 8 {
			t.Errorf("%d of 5 let in, %d remembered", n, l.Sources())
		}
		for i := range 8 {
			if l.Allow(addr(i)) {
				t.Errorf("source %d was forgotten while it was over its rate", i)
			}
		}
		time.Sleep(time.Second)
		if n := allowed(l, honest, 5); n != 1 {
			t.Errorf("%d of 5 let in, though there is a place again", n)
		}
	})
}

func TestASourceThatKeepsToItsRateAgainCanBeForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 10, 1)
		allowed(l, addr(1), 11)
		time.Sleep(time.Second)
		if !l.Allow(addr(1)) {
			t.Fatal("no token after a second")
		}
		l.Allow(addr(2))
		if n := allowed(l, addr(2), 20); n != 9 {
			t.Errorf("the newcomer was not remembered: %d let in", n)
		}
	})
}

func TestAFloodOfSourcesIsBounded(t *testing.T) {
	// In a bubble no time passes, so that no source becomes idle: the worst case.
	synctest.Test(t, func(t *testing.T) {
		var before, after runtime.MemStats
		l := New(10, 0, 0)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 1_000_000 {
			if !l.Allow(addr(i)) {
				t.Fatalf("newcomer %d was refused", i)
			}
			if i%100_000 == 0 && l.Sources() > defaultSources {
				t.Fatalf("%d sources after %d", l.Sources(), i)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		t.Logf("%d sources in %d KiB", l.Sources(), used>>10)
		if n := l.Sources(); n != defaultSources {
			t.Errorf("%d sources remembered, not %d", n, defaultSources)
		}
		if used > 32<<20 {
			t.Errorf("%d MiB used", used>>20)
		}
		runtime.KeepAlive(l)
	})
}

func TestPlacesAddUpToWhatWasAskedFor(t *testing.T) {
	for _, want := range []int{1, 2, 255, 256, 257, 1000, 4097, 65536, 100_003} {
		l, sum := New(1, 0, want), 0
		for i := range l.shards {
			sum += l.shards[i].places
		}
		if sum != want {
			t.Errorf("%d places, not %d", sum, want)
		}
	}
}

func TestManyLoopsMayAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loops, each = 8, 5000
		l := New(100, 0, 2000)
		var wg sync.WaitGroup
		in := make([]int, loops)
		for g := range loops {
			wg.Go(func() {
				for i := range each {
					if l.Allow(addr(0)) {
						in[g]++
					}
					l.Allow(addr(1 + g*each + i))
				}
			})
		}
		wg.Go(func() {
			for range 100 {
				l.SetRate(100)
				l.Sources()
			}
		})
		wg.Wait()
		sum := 0
		for _, n := range in {
			sum += n
		}
		// No time passes in a bubble that computes.
		if sum != 100 {
			t.Errorf("%d let in, not 100", sum)
		}
		if n := l.Sources(); n > 2000 {
			t.Errorf("%d sources remembered", n)
		}
		checkLists(t, l)
	})
}

// checkLists fails the test unless every source is in the list of its kind, once.
func checkLists(t *testing.T, l *Limiter) {
	t.Helper()
	for i := range l.shards {
		s, n := &l.shards[i], 0
		for _, list := range []*list{&s.within, &s.over} {
			for src := list.end.next; src != &list.end; src = src.next {
				if n++; s.sources[src.key] != src || s.listOf(src) != list || src.next.prev != src {
					t.Errorf("shard %d: source %v is out of place", i, src.key)
				}
			}
		}
		if n != len(s.sources) || n > s.places {
			t.Errorf("shard %d: %d sources in lists, %d in all, %d places", i, n, len(s.sources), s.places)
		}
	}
}
