package l4

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// Sessions end in every way, and their backend leaves the pool and is back, while two
// readers look: no sum falls in what either sees, and in the end each is that of the log.
func TestBytesNeverFallWhileSessionsEndAndBackendsComeBack(t *testing.T) {
	cfgs := echoes(t, 2)
	r := serve(t, Config{}, cfgs...)
	keeps := r.connectAll(2) // so that each has a session whenever it leaves
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() { r.watchBytes(stop) })
	}
	others.Go(func() {
		now := r.backends
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			k := i % 2
			if _, err := r.Pool().Edit(Edit{Remove: now[k : k+1]}, byAdmin); err != nil {
				t.Error(err)
			}
			r.Kill(func(i SessionInfo) bool { return i.ID > 2 && i.ID%5 == 0 })
			if back, err := r.Pool().Edit(Edit{Add: cfgs[k : k+1], Order: []string{"b1", "b2"}}, byAdmin); err != nil || back[0] != now[k] {
				t.Errorf("another one is back: %v, %v", back, err)
			}
		}
	})
	parallel(4, func(int) {
		for range 60 {
			c, err := dialer("").Dial("tcp", r.address)
			if err != nil {
				continue // killed as soon as it was there
			}
			c.SetDeadline(time.Now().Add(patience))
			for range 1 + rand.IntN(4) {
				if _, err := c.Write([]byte(text(1 + rand.IntN(3000)))); err != nil {
					break
				}
				c.Read(make([]byte, 1000))
			}
			if rand.IntN(2) == 0 {
				abort(c)
			}
			c.Close()
		}
	})
	close(stop)
	others.Wait()
	for _, c := range keeps {
		expectEcho(t, c, "z")
		c.Close()
	}
	r.awaitActive(0)
	want := make(map[string][2]int64)
	r.Close()
	for _, l := range r.log.await(t, "session", int(r.ids.Load())) {
		sum := want[l["backend"]]
		for d, name := range []string{relay.ToBackend: "bytes_to_backend", relay.ToClient: "bytes_to_client"} {
			n, err := strconv.ParseInt(l[name], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum[d] += n
		}
		want[l["backend"]] = sum
	}
	for _, b := range r.Backends() {
		if b.Moved != want[b.Name] {
			t.Errorf("%s moved %v, its sessions %v", b.Name, b.Moved, want[b.Name])
		}
	}
}

// watchBytes reads until it is stopped. A backend is in each reading, in the pool or leaving.
func (r *rig) watchBytes(stop <-chan struct{}) {
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	last := make(map[string][2]int64)
	for {
		all := r.Backends()
		if len(all) != 2 {
			r.t.Errorf("%d backends: %+v", len(all), all)
		}
		for _, b := range all {
			was := last[b.Name]
			if b.Moved[0] < was[0] || b.Moved[1] < was[1] {
				r.t.Errorf("%s fell from %v to %v", b.Name, was, b.Moved)
			}
			last[b.Name] = b.Moved
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// One that ends between the two looks of a reading is missed there, and in the next.
func TestWhatAReadingMissesOfASessionIsInTheNext(t *testing.T) {
	r := serve(t, Config{}, echoes(t, 1)...)
	b := r.backends[0]
	c := r.connectAll(1)[0]
	eventually(t, "the count", func() bool { return r.Backends()[0].Moved == [2]int64{1, 1} })
	ended := [2]int64{b.moved[0].Load(), b.moved[1].Load()} // what a reading looks at first
	expectEcho(t, c, "yz")
	c.Close()
	r.awaitEnded(relay.EOF, 1)
	if got := b.shown(ended); got != [2]int64{1, 1} {
		t.Errorf("it fell to %v", got)
	}
	if got := r.Backends()[0].Moved; got != [2]int64{3, 3} {
		t.Errorf("in the end it is %v", got)
	}
}
