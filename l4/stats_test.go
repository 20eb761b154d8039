package l4

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// counters are all that may never fall, by name.
func (r *rig) counters() map[string]int64 {
	all := make(map[string]int64)
	for why, n := range r.Stats().Ended {
		all["ended "+why] = n
	}
	for _, b := range r.Backends() {
		all[b.Name+" total"] = b.Total
		all[b.Name+" retries"] = b.Retries
		all[b.Name+" to backend"] = b.Moved[relay.ToBackend]
		all[b.Name+" to client"] = b.Moved[relay.ToClient]
		for reason, n := range b.DialFailures {
			all[b.Name+" "+reason] = n
		}
	}
	return all
}

// C89
func TestCountersNeverFallAndTellTheTruthInTheEnd(t *testing.T) {
	const workers, rounds, size = 6, 20, 20_000
	r := serve(t, Config{}, append(echoes(t, 2), refusing(t, "dead"))...)
	stop := make(chan struct{})
	var watchers sync.WaitGroup
	for range 2 {
		watchers.Go(func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for last := map[string]int64{}; ; <-tick.C {
				now := r.counters()
				for name, n := range last {
					if now[name] < n {
						t.Errorf("%s fell from %d to %d", name, n, now[name])
					}
				}
				last = now
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	var moved atomic.Int64
	parallel(workers, func(w int) {
		for i := range rounds {
			n := size * (w + 1) / (i + 1)
			c, err := dialer("").Dial("tcp", r.address)
			if err != nil {
				t.Error(err)
				return
			}
			c.SetDeadline(time.Now().Add(patience))
			sent := async(func() error {
				_, err := c.Write([]byte(strings.Repeat("x", n)))
				c.(relay.Conn).CloseWrite()
				return err
			})
			got, end := drain(c)
			if err := <-sent; err != nil || len(got) != n || end != "eof" {
				t.Errorf("%d of %d came back, then %s; %v", len(got), n, end, err)
			}
			moved.Add(int64(n))
			c.Close()
		}
	})
	r.awaitActive(0)
	close(stop)
	watchers.Wait()
	if st := r.Stats(); st.Ended["eof"] != workers*rounds || len(st.Ended) != 1 {
		t.Errorf("ended: %v", st.Ended)
	}
	var sum [2]int64
	var total, retries, refused int64
	for _, b := range r.Backends() {
		sum[0] += b.Moved[0]
		sum[1] += b.Moved[1]
		total += b.Total
		retries += b.Retries
		refused += b.DialFailures["refused"]
	}
	if sum != [2]int64{moved.Load(), moved.Load()} || total != workers*rounds || retries != refused || refused == 0 {
		t.Errorf("moved %v of %d; %d connected, %d retries, %d refused", sum, moved.Load(), total, retries, refused)
	}
}

// C89: bytes are counted while the session lives.
func TestLiveSessionsAreCounted(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	c := r.connect()
	for i := range 3 {
		expectEcho(t, c, "12345")
		want := int64(5 * (i + 1))
		eventually(t, "the count", func() bool { return r.Backends()[0].Moved == [2]int64{want, want} })
	}
	if st := r.Stats(); st.Active != 1 || len(st.Ended) != 0 {
		t.Errorf("%+v", st)
	}
	if b := r.Backends()[0]; b.Sessions != 1 || b.Total != 1 {
		t.Errorf("%+v", b)
	}
}

func TestBackendsAreListedInTheirOrderWithTheirState(t *testing.T) {
	backends := plain(3)
	backends[1].Weight, backends[1].Priority = 7, 2
	r := assemble(t, Config{}, backends...)
	r.Pool().SetHealth(r.backends[0], Up, byProbe)
	r.Pool().SetHealth(r.backends[1], Down, byProbe)
	r.Pool().Eject(r.backends[2], byDial)
	all := r.Backends()
	for i, want := range []BackendStats{
		{Name: "b1", Address: "192.0.2.1:1", Weight: 1, Health: Up, Usable: true, Reason: byProbe.Reason},
		{Name: "b2", Address: "192.0.2.1:2", Weight: 7, Priority: 2, Health: Down, Reason: byProbe.Reason},
		{Name: "b3", Address: "192.0.2.1:3", Weight: 1, Health: Unknown, Ejected: true, Reason: byDial.Reason},
	} {
		got := all[i]
		if got.Since.IsZero() || len(got.DialFailures) != 0 {
			t.Errorf("%+v", got)
		}
		got.Since, got.DialFailures = time.Time{}, nil
		if got.Name != want.Name || got.Address != want.Address || got.Weight != want.Weight || got.Priority != want.Priority ||
			got.Health != want.Health || got.Ejected != want.Ejected || got.Usable != want.Usable || got.Reason != want.Reason {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for h, want := range map[Health]string{Unknown: "unknown", Up: "up", Down: "down"} {
		if h.String() != want {
			t.Errorf("%d is called %s", h, h)
		}
	}
}
