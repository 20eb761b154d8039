package l4

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// edit is Edit for tests that expect it to work.
func (r *rig) edit(e Edit) []*Backend {
	r.t.Helper()
	added, err := r.Pool().Edit(e, byAdmin)
	if err != nil {
		r.t.Fatal(err)
	}
	return added
}

// names returns the names of those in the pool, in order.
func (p *Pool) names() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.backends {
		all = append(all, b.Name())
	}
	return all
}

// flood has clients come and echo, several at a time, until the function it returns is
// called: that returns how many were served. Each one that is not is a fault.
func (r *rig) flood(network, address string) (stop func() int64) {
	r.t.Helper()
	var clients sync.WaitGroup
	var served atomic.Int64
	end := make(chan struct{})
	for i := range 4 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				default:
				}
				if err := once(network, address, fmt.Sprint(i, ".", n)); err != nil {
					r.t.Errorf("client %d.%d: %v", i, n, err)
					return
				}
				served.Add(1)
			}
		})
	}
	halt := sync.OnceFunc(func() { close(end) })
	r.t.Cleanup(func() { // of a test that has failed
		halt()
		clients.Wait()
	})
	return func() int64 {
		r.t.Helper()
		halt()
		within(r.t, "the clients to end", clients.Wait)
		return served.Load()
	}
}

// once is a client that says something and hears it.
func once(network, address, words string) error {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(words)); err != nil {
		return err
	}
	got := make([]byte, len(words))
	for n := 0; n < len(got); {
		k, err := c.Read(got[n:])
		if n += k; err != nil {
			return fmt.Errorf("%w after %q of %q", err, got[:n], words)
		}
	}
	if string(got) != words {
		return fmt.Errorf("got %q for %q", got, words)
	}
	return nil
}

// awaitArrivals waits until so many sessions have begun.
func (r *rig) awaitArrivals(n uint64) {
	r.t.Helper()
	eventually(r.t, "clients", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.ids.Load() >= n || r.t.Failed()
	})
}

// awaitMore waits until so many more have begun.
func (r *rig) awaitMore(n uint64) {
	r.t.Helper()
	r.mu.Lock()
	n += r.ids.Load()
	r.mu.Unlock()
	r.awaitArrivals(n)
}

func TestAnEditThatCannotBeChangesNothing(t *testing.T) {
	spare := BackendConfig{Address: "192.0.2.9:9", Name: "new", Weight: 1}
	type edit func(b []*Backend) Edit
	update := func(c BackendConfig) edit {
		return func(b []*Backend) Edit {
			return Edit{Add: []BackendConfig{spare}, Remove: b[:1], Update: map[*Backend]BackendConfig{b[1]: c}}
		}
	}
	order := func(names ...string) edit {
		return func(b []*Backend) Edit { return Edit{Add: []BackendConfig{spare}, Remove: b[:1], Order: names} }
	}
	for name, e := range map[string]edit{
		"too much weight":                update(BackendConfig{Weight: 257}),
		"negative weight":                update(BackendConfig{Weight: -1}),
		"negative priority":              update(BackendConfig{Weight: 1, Priority: -1}),
		"negative limit":                 update(BackendConfig{Weight: 1, MaxConnections: -1}),
		"an order with one that is gone": order("b1", "b2", "b3", "new"),
		"an order that leaves one out":   order("b2", "new"),
		"an order that names one twice":  order("b2", "b3", "b2"),
		"a name that is taken": func(b []*Backend) Edit {
			return Edit{Add: []BackendConfig{spare, {Address: "a:1", Name: "b2", Weight: 1}}, Remove: b[:1]}
		},
		"the same name twice": func(b []*Backend) Edit { return Edit{Add: []BackendConfig{spare, spare}, Remove: b[:1]} },
		"no address":          func(b []*Backend) Edit { return Edit{Add: []BackendConfig{spare, {Name: "x"}}, Remove: b[:1]} },
	} {
		p, b, j := pool(t, picker.First, plain(3)...)
		p.SetHealth(b[0], Up, byProbe)
		j.said()
		shape := p.shape()
		if added, err := p.Edit(e(b), byAdmin); !errors.Is(err, ErrBackend) || added != nil {
			t.Errorf("%s: added %v, error %v", name, added, err)
		}
		if p.shape() != shape || !slices.Equal(p.names(), []string{"b1", "b2", "b3"}) || b[0].removed || b[0].barred.Load() || b[1].cfg.Weight != 1 {
			t.Errorf("%s: something of it was done: %v, tiers %q", name, p.names(), p.shape())
		}
		if said := j.said(); len(said) != 0 {
			t.Errorf("%s: said %v", name, said)
		}
	}
}

func TestAnEditKeepsToTheLimitsOfThePolicy(t *testing.T) {
	heavy := func(n int) (all []BackendConfig) {
		for i := range n {
			all = append(all, BackendConfig{Address: fmt.Sprintf("192.0.2.1:%d", i+1), Weight: 1})
		}
		return all
	}
	p, b, _ := pool(t, picker.Maglev, plain(2)...)
	if _, err := p.Edit(Edit{Add: heavy(1 << 16), Remove: b[:1]}, byAdmin); !errors.Is(err, ErrBackend) || !errors.Is(err, picker.ErrTooMany) {
		t.Errorf("error %v", err)
	}
	if p.shape() != "b1+b2" {
		t.Errorf("tiers %q", p.shape())
	}
}

func TestAnEditPutsBackendsInOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		order []string
		want  string
	}{
		{"none: new ones come last", nil, "b1 b3 x y"},
		{"an order", []string{"y", "b3", "x", "b1"}, "y b3 x b1"},
	} {
		p, b, _ := pool(t, picker.First, plain(3)...)
		x := BackendConfig{Address: "192.0.2.9:1", Name: "x", Weight: 1}
		y := BackendConfig{Address: "192.0.2.9:2", Name: "y", Weight: 1}
		added, err := p.Edit(Edit{Add: []BackendConfig{x, y}, Remove: b[1:2], Order: c.order}, byAdmin)
		if err != nil || len(added) != 2 || added[0].Name() != "x" || added[1].Name() != "y" {
			t.Errorf("%s: added %v, %v", c.name, added, err)
		}
		if got := strings.Join(p.names(), " "); got != c.want || p.shape() != strings.ReplaceAll(c.want, " ", "+") {
			t.Errorf("%s: %s, tiers %q, want %s", c.name, got, p.shape(), c.want)
		}
	}
}

func TestWhatIsNotInThePoolIsNotEdited(t *testing.T) {
	p, b, j := pool(t, picker.First, plain(3)...)
	if _, err := p.Edit(Edit{Remove: b[:1]}, byAdmin); err != nil {
		t.Fatal(err)
	}
	j.said()
	wrong := BackendConfig{Weight: -5, MaxConnections: -7}
	if _, err := p.Edit(Edit{Remove: b[:1], Update: map[*Backend]BackendConfig{b[0]: wrong}}, byAdmin); err != nil {
		t.Errorf("one that is gone already is no fault: %v", err)
	}
	if b[0].cfg.Weight != 1 || b[0].limit.Load() != 0 || len(j.said()) != 0 || p.shape() != "b2+b3" {
		t.Errorf("it was changed: %+v, tiers %q", b[0].cfg, p.shape())
	}
	p.SetHealth(b[0], Up, byProbe)
	if p.SetAdmin(b[0], Drain, byAdmin) || p.Eject(b[0], byDial) || len(j.said()) != 0 {
		t.Error("a removed backend has changed")
	}
}

func TestAnUpdateKeepsTheStateAndTheNameOfABackend(t *testing.T) {
	p, b, _ := pool(t, picker.First, plain(2)...)
	p.SetHealth(b[0], Up, byProbe)
	u := BackendConfig{Name: "other", Address: "elsewhere:1", Weight: 7, Priority: 1, MaxConnections: 3}
	if _, err := p.Edit(Edit{Update: map[*Backend]BackendConfig{b[0]: u}}, byAdmin); err != nil {
		t.Fatal(err)
	}
	if p.shape() != "b2 b1" || b[0].health != Up || b[0].Address() != "192.0.2.1:1" || b[0].limit.Load() != 3 {
		t.Errorf("tiers %q, %+v, %s", p.shape(), b[0].cfg, b[0].health)
	}
}

func TestABackendThatIsAddedAgainHasItsSessionsAndCounters(t *testing.T) {
	cfgs := echoes(t, 2)
	r := serve(t, Config{Balance: picker.First}, cfgs...)
	c := r.connect()
	expectEcho(t, c, "before")
	r.edit(Edit{Remove: r.backends[:1]})
	expectEcho(t, r.connect(), "elsewhere")
	all := r.Backends()
	if len(all) != 2 || all[0].Name != "b2" || all[1].Name != "b1" || !all[1].Leaving || all[1].Usable || all[1].Sessions != 1 {
		t.Errorf("%+v", all)
	}
	expectEcho(t, c, "while it is away")
	back := r.edit(Edit{Add: cfgs[:1], Order: []string{"b1", "b2"}})
	if back[0] != r.backends[0] {
		t.Fatal("it is another one")
	}
	late := r.connect()
	expectEcho(t, late, "x")
	const moved = int64(len("before") + len("while it is away") + len("x"))
	eventually(t, "the counters", func() bool { return r.Backends()[0].Moved == [2]int64{moved, moved} })
	if b := r.Backends()[0]; b.Total != 2 || b.Sessions != 2 || b.Leaving || b.Health != Unknown || !b.Usable {
		t.Errorf("%+v", b)
	}
	// With another address, or once its sessions are over, it is a new one.
	r.edit(Edit{Remove: back})
	c.Close()
	late.Close()
	r.awaitEnded(relay.EOF, 2)
	eventually(t, "it to be forgotten", func() bool { return len(r.Backends()) == 1 })
	if again := r.edit(Edit{Add: cfgs[:1]}); again[0] == r.backends[0] || r.Backends()[1].Total != 0 {
		t.Errorf("%+v", r.Backends()[1])
	}
}

// It has been told of as removed, and so it is told of when it goes again.
func TestRemovalsAreToldOnce(t *testing.T) {
	p, b, j := pool(t, picker.First, plain(2)...)
	p.SetHealth(b[0], Up, byProbe)
	j.said()
	b[0].take()
	if _, err := p.Edit(Edit{Remove: b[:1]}, byAdmin); err != nil {
		t.Fatal(err)
	}
	l := j.of("backend down")
	if len(l) != 1 || l[0]["to"] != "removed" || l[0]["from"] != "up" || l[0]["reason"] != byAdmin.Reason || l[0]["total"] != "1" {
		t.Errorf("logged %v", l)
	}
	if _, err := p.Edit(Edit{Remove: b[1:]}, byAdmin); err != nil {
		t.Fatal(err)
	}
	if p.shape() != "" || len(j.of("no usable backend")) != 0 {
		t.Errorf("an empty pool is no outage: %v", j.of("no usable backend"))
	}
	b[0].give()
}

func TestAReplacedAddressIsServedFromTheNextSessionOn(t *testing.T) {
	old, next := backend(t, says("1")), backend(t, says("2"))
	r := serve(t, Config{}, old.config("b"))
	first := r.connect()
	expectRead(t, first, "1")
	added := r.edit(Edit{Remove: r.backends, Add: []BackendConfig{next.config("b")}})
	for range 10 {
		expectRead(t, r.connect(), "2")
	}
	if all := r.Backends(); added[0] == r.backends[0] || len(all) != 2 || all[0].Address != next.address || !all[1].Leaving {
		t.Errorf("%+v", all)
	}
	first.CloseWrite()
	expectDrain(t, first, "", "eof")
}

// Each edit replaces the only backend there is: a dial of the old one that ends meanwhile
// finds the new one, whichever instant that is.
func TestNoClientSeesTheInstantOfAnEdit(t *testing.T) {
	for _, policy := range []string{picker.RoundRobin, picker.Maglev, picker.SourceHash} {
		t.Run(policy, func(t *testing.T) {
			sides := echoes(t, 2)
			sides[0].Name, sides[1].Name = "b", "b"
			r := serve(t, Config{Balance: policy, SessionLog: LogOff}, sides[0])
			stop := r.flood("tcp", r.address)
			now := r.backends
			for i := range edits(policy, 300) {
				now = r.edit(Edit{Remove: now, Add: sides[(i+1)%2 : (i+1)%2+1]})
				r.awaitArrivals(uint64(i / 2))
			}
			stop()
			r.awaitActive(0)
			if st := r.Stats(); len(st.Ended) != 1 || st.Ended["eof"] == 0 {
				t.Errorf("ended: %v", st.Ended)
			}
		})
	}
}

// edits is how many a test makes: fewer with maglev, whose table takes long.
func edits(policy string, n int) int {
	if policy == picker.Maglev {
		return n / 4
	}
	return n
}

// One that is taken out and put back in one step was there all the time.
func TestABackendThatStaysIsNotBarredForAnInstant(t *testing.T) {
	one := echoes(t, 1)
	r := serve(t, Config{SessionLog: LogOff}, one...)
	keep := r.connect()
	expectEcho(t, keep, "x")
	stop := r.flood("tcp", r.address)
	now := r.backends
	for i := range 500 {
		if now = r.edit(Edit{Remove: now, Add: one}); now[0] != r.backends[0] {
			t.Fatal("it has a session, and is another one")
		}
		r.awaitArrivals(uint64(i / 2))
	}
	stop()
	expectEcho(t, keep, "y")
	if f := r.dialFailures(); len(f) != 0 {
		t.Errorf("dials failed: %v", f)
	}
}

// Members come, go, change and are put in another order, in pools whose views are made at
// once and in larger ones, with every policy.
func TestNobodyIsRefusedDuringHundredsOfEdits(t *testing.T) {
	for _, policy := range picker.Policies() {
		for _, n := range []int{3, fewBackends + 4} {
			t.Run(policy+"/"+strconv.Itoa(n), func(t *testing.T) {
				server := backend(t, echo)
				member := func(i int) BackendConfig { return server.config(fmt.Sprint("b", i)) }
				var first []BackendConfig
				for i := range n {
					first = append(first, member(i))
				}
				r := serve(t, Config{Balance: policy, SessionLog: LogOff}, first...)
				stop := r.flood("tcp", r.address)
				now := slices.Clone(r.backends)
				for i := range edits(policy, 100) {
					e := Edit{Add: []BackendConfig{member(n + i)}, Remove: now[:1]}
					c := member(0)
					c.Weight, c.Priority, c.MaxConnections = i%5, i%2, 100+i
					e.Update = map[*Backend]BackendConfig{now[1]: c}
					for _, b := range now[1:] {
						e.Order = append([]string{b.Name()}, e.Order...)
					}
					e.Order = append(e.Order, e.Add[0].Name)
					now = append(now[1:], r.edit(e)...)
					r.Pool().SetHealth(now[len(now)-1], Up, byProbe)
					r.awaitArrivals(uint64(i))
				}
				stop()
				r.awaitActive(0)
				if st := r.Stats(); len(st.Ended) != 1 {
					t.Errorf("ended: %v", st.Ended)
				}
				if got := r.Pool().names(); len(got) != n {
					t.Errorf("in the pool: %v", got)
				}
			})
		}
	}
}

func TestAHigherLimitLetsThoseInWhoWait(t *testing.T) {
	one := echoes(t, 1)[0]
	one.MaxConnections = 1
	r := serve(t, Config{Connect: holdFor(patience)}, one)
	expectEcho(t, r.connect(), "x")
	var line []relay.Conn
	for i := range 5 {
		line = append(line, r.connect())
		r.awaitHeld(int32(i + 1))
	}
	for _, limit := range []int{3, 0} {
		one.MaxConnections = limit
		r.edit(Edit{Update: map[*Backend]BackendConfig{r.backends[0]: one}})
		if limit > 0 {
			r.awaitHeld(3)
		}
	}
	for _, c := range line {
		expectEcho(t, c, "y")
	}
}

func TestAClosedPoolIsNotEdited(t *testing.T) {
	r := serve(t, Config{}, plain(1)...)
	r.Close()
	if _, err := r.Pool().Edit(Edit{Remove: r.backends}, byAdmin); err != ErrServiceClosed {
		t.Errorf("error %v", err)
	}
}
