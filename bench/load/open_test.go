package load

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a server in memory: answer is called for each request with its number over
// all connections, and tells whether to answer it or to close.
type fake struct {
	answer func(n int64) bool
	seen   atomic.Int64
	all    sync.WaitGroup
}

func (f *fake) dial() (net.Conn, error) {
	client, server := memPair()
	f.all.Go(func() {
		defer server.Close()
		request := make([]byte, len(Redis().Request))
		for {
			if _, err := io.ReadFull(server, request); err != nil {
				return
			}
			if !f.answer(f.seen.Add(1) - 1) {
				return
			}
			if _, err := server.Write([]byte("+PONG\r\n")); err != nil {
				return
			}
		}
	})
	return client, nil
}

// outcome is what came of an open loop.
type outcome struct {
	tally         Tally
	latency, late *Latency
}

// run offers o to f for d.
func (o Open) run(t *testing.T, f *fake, d time.Duration) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if o.Dial == nil {
		o.Dial = f.dial
	}
	o.Protocol = Redis()
	out := &outcome{latency: NewLatency(), late: NewLatency()}
	o.Run(ctx, &out.tally, out.latency, out.late)
	f.all.Wait()
	return out
}

// near fails the test unless got is want to three digits.
func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if math.Abs(float64(got-want)) > max(float64(want)/1000, float64(2*time.Microsecond)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A hundred requests a second for ten seconds, of which the server lets those of two
// seconds wait: two hundred are late, by 2.00 s, 1.99 s and so on. A client that waited
// for each answer would have sent one of them, and seen one that is late.
func TestAStallIsChargedToEveryRequestThatWasDueInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int64) bool {
			if n == 300 {
				time.Sleep(2 * time.Second)
			}
			return true
		}}
		out := Open{Connections: 1, Rate: 100}.run(t, f, 9995*time.Millisecond)
		if out.tally.Done() != 1000 || out.tally.Failures() != nil || out.latency.Count() != 1000 {
			t.Fatalf("%d done, %v, %d recorded", out.tally.Done(), out.tally.Failures(), out.latency.Count())
		}
		near(t, "50 %", out.latency.Quantile(0.5), 0)
		near(t, "80 %", out.latency.Quantile(0.8), 0)
		near(t, "90 %", out.latency.Quantile(0.9), time.Second)
		near(t, "99 %", out.latency.Quantile(0.99), 1900*time.Millisecond)
		near(t, "99.9 %", out.latency.Quantile(0.999), 1990*time.Millisecond)
		near(t, "the longest", out.latency.Quantile(1), 2*time.Second)
		near(t, "sent late at most", out.late.Quantile(1), 0)
	})
}

func TestAStallOfOneConnectionIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int64) bool {
			if n == 300 {
				time.Sleep(2 * time.Second)
			}
			return true
		}}
		out := Open{Connections: 10, Rate: 100}.run(t, f, 9995*time.Millisecond)
		late := 0
		for share := 0.0005; share < 1; share += 0.001 { // each of the thousand
			if out.latency.Quantile(share) > time.Millisecond {
				late++
			}
		}
		if out.tally.Done() != 1000 || late != 20 {
			t.Errorf("%d done, %d late", out.tally.Done(), late)
		}
		near(t, "the longest", out.latency.Quantile(1), 2*time.Second)
	})
}

func TestRequestsAreSentWhenDueThoughNoneIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		f := &fake{answer: func(int64) bool {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(start))
			return true
		}}
		Open{Connections: 4, Rate: 250}.run(t, f, 99*time.Millisecond)
		for i, got := range at {
			if want := time.Duration(i) * 4 * time.Millisecond; got != want {
				t.Errorf("request %d was sent after %v", i, got)
			}
		}
		if len(at) != 25 {
			t.Errorf("%d were sent", len(at))
		}
	})
}

func TestWhatTheClientIsLateCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(int64) bool { time.Sleep(2 * time.Millisecond); return true }}
		tardy := func(d time.Duration) { time.Sleep(d + 5*time.Millisecond) }
		out := Open{Connections: 1, Rate: 100, Pause: tardy}.run(t, f, time.Second)
		near(t, "the median of what was sent late", out.late.Quantile(0.5), 5*time.Millisecond)
		near(t, "the median", out.latency.Quantile(0.5), 7*time.Millisecond)
	})
}

func TestASlowRateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		out := Open{Connections: 1, Rate: 0.01}.run(t, &fake{answer: func(int64) bool { return true }}, time.Second)
		if took := time.Since(start); took > time.Second+maxPause || out.tally.Done() != 1 {
			t.Errorf("%d done in %v", out.tally.Done(), took)
		}
	})
}

func TestEveryRequestIsOneSuccessOrOneFailure(t *testing.T) {
	mute := make(chan struct{})
	tests := []struct {
		name   string
		answer func(n int64) bool
		dial   func() (net.Conn, error)
		done   int64 // -1: some, not all
		kinds  []Failure
	}{
		{name: "all is well", answer: func(int64) bool { return true }, done: 100},
		{name: "every tenth is closed", answer: func(n int64) bool { return n%10 != 9 }, done: -1, kinds: []Failure{Closed}},
		{name: "all are closed", answer: func(int64) bool { return false }, kinds: []Failure{Closed}},
		{name: "all are refused", dial: func() (net.Conn, error) { return nil, syscall.ECONNREFUSED }, kinds: []Failure{Refused}},
		{name: "mute", answer: func(int64) bool { <-mute; return false }, kinds: []Failure{Timeout}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mute = make(chan struct{})
				time.AfterFunc(time.Minute, func() { close(mute) })
				f := &fake{answer: tt.answer}
				out := Open{Connections: 3, Rate: 100, Dial: tt.dial}.run(t, f, 995*time.Millisecond)
				failed := failures(&out.tally)
				if out.tally.Done()+failed != 100 || out.latency.Count() != out.tally.Done() {
					t.Errorf("%d done, %d recorded, %v", out.tally.Done(), out.latency.Count(), out.tally.Failures())
				}
				some := tt.done < 0 && out.tally.Done() > 0 && failed > 0
				if !some && out.tally.Done() != tt.done {
					t.Errorf("%d done", out.tally.Done())
				}
				if got := slices.Sorted(maps.Keys(out.tally.Failures())); !slices.Equal(got, tt.kinds) {
					t.Errorf("failed: %v (%v)", out.tally.Failures(), out.tally.Err())
				}
			})
		})
	}
}

func TestALaneThatWasRefusedConnectsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(int64) bool { return true }}
		up := time.Now().Add(500 * time.Millisecond)
		dial := func() (net.Conn, error) {
			if time.Now().Before(up) {
				return nil, syscall.ECONNREFUSED
			}
			return f.dial()
		}
		out := Open{Connections: 1, Rate: 100, Dial: dial}.run(t, f, 1995*time.Millisecond)
		if out.tally.Done() < 100 || out.tally.Done()+failures(&out.tally) != 200 {
			t.Errorf("%d done, %v", out.tally.Done(), out.tally.Failures())
		}
		if !errors.Is(out.tally.Err(), syscall.ECONNREFUSED) {
			t.Errorf("the first failure is %v", out.tally.Err())
		}
	})
}

func TestAnOpenLoopOverTCP(t *testing.T) {
	addr := serve(t, pongs)
	var tally Tally
	l := NewLatency()
	Open{Addr: addr, Protocol: Redis(), Connections: 7, Rate: 2000, Pause: Sleep}.Run(until(t, &tally, 200, 0), &tally, l, nil)
	if tally.Done() < 200 || tally.Failures() != nil || l.Count() != tally.Done() {
		t.Errorf("%d done, %v (%v)", tally.Done(), tally.Failures(), tally.Err())
	}
}
