package l4

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/l4/relay"
	"github.com/sluicelb/sluice/picker"
)

// greeted opens a session and returns it with the greeting; "" if the client was
// turned away.
func (r *rig) greeted() (relay.Conn, string) {
	conn, err := dialer("127.0.0.2").Dial("tcp", r.address)
	if err != nil {
		return nil, ""
	}
	b := make([]byte, 1)
	if _, err := conn.Read(b); err != nil {
		conn.Close()
		return nil, ""
	}
	return conn.(relay.Conn), string(b)
}

// C52
func TestABackendNeverGetsMoreThanItsLimit(t *testing.T) {
	const clients = 200
	for _, c := range []struct {
		policy    string
		backends  int
		limit     int
		wantGreet int64
	}{
		{picker.RoundRobin, 4, 50, 200},
		{picker.SourceHash, 4, 50, 200},
		{picker.Maglev, 4, 50, 200},
		{picker.First, 4, 50, 200},
		{picker.LeastConn, 3, 20, 60},
		{picker.P2C, 3, 20, 60},
		{picker.Random, 3, 20, 60},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d", c.policy, c.backends, c.limit), func(t *testing.T) {
			var fakes []*fake
			var configs []BackendConfig
			for i := range c.backends {
				f := backend(t, says("x"))
				fakes = append(fakes, f)
				configs = append(configs, f.config(fmt.Sprintf("b%d", i)))
				configs[i].MaxConnections = c.limit
			}
			r := serve(t, Config{Balance: c.policy}, configs...)
			var got atomic.Int64
			conns := make([]relay.Conn, clients)
			parallel(clients, func(i int) {
				var greeting string
				if conns[i], greeting = r.greeted(); greeting != "" {
					got.Add(1)
				}
			})
			if got.Load() != c.wantGreet {
				t.Errorf("%d clients were served, want %d", got.Load(), c.wantGreet)
			}
			r.awaitEnded(relay.BackendsFull, clients-c.wantGreet)
			for i, f := range fakes {
				if f.most.Load() != int64(c.limit) || r.Backends()[i].Sessions != int64(c.limit) {
					t.Errorf("b%d had %d at one time, has %d, its limit is %d", i, f.most.Load(), r.Backends()[i].Sessions, c.limit)
				}
			}
			for _, conn := range conns {
				if conn != nil {
					conn.Close()
				}
			}
			r.awaitActive(0)
		})
	}
}

// C52: the home backend of a hashed client is full, the next one takes the rest.
func TestAHashedClientSpillsToTheNextBackend(t *testing.T) {
	for _, policy := range []string{picker.SourceHash, picker.Maglev} {
		backends := greeters(t, 3)
		for i := range backends {
			backends[i].MaxConnections = 5
		}
		r := serve(t, Config{Balance: policy}, backends...)
		var order []string
		for range 12 {
			c, greeting := r.greeted()
			if greeting == "" {
				t.Fatalf("%s: refused after %v", policy, order)
			}
			defer c.Close()
			order = append(order, greeting)
		}
		for i, greeting := range order {
			if greeting != order[i/5*5] {
				t.Errorf("%s: %v", policy, order)
			}
		}
	}
}

func TestTheServiceTakesNoMoreThanItsLimit(t *testing.T) {
	const clients, limit = 60, 10
	r := serve(t, Config{MaxConnections: limit}, backend(t, says("x")).config("b"))
	var got atomic.Int64
	conns := make([]relay.Conn, clients)
	parallel(clients, func(i int) {
		if conns[i], _ = r.greeted(); conns[i] != nil {
			got.Add(1)
		}
	})
	if got.Load() != limit {
		t.Errorf("%d were served, the limit is %d", got.Load(), limit)
	}
	r.awaitEnded(relay.LimitConnections, clients-limit)
	r.awaitActive(limit)
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	r.awaitActive(0)
	c, greeting := r.greeted()
	if greeting != "x" {
		t.Fatal("refused although all others have ended")
	}
	c.Close()
}

func TestASourceTakesNoMoreThanItsLimit(t *testing.T) {
	r := serve(t, Config{MaxPerSource: 2}, backend(t, echo).config("b"))
	first := r.connectFrom("127.0.0.2")
	expectEcho(t, first, "x")
	expectEcho(t, r.connectFrom("127.0.0.2"), "x")
	for range 3 {
		r.expectTurnedAwayFrom("127.0.0.2")
	}
	expectEcho(t, r.connectFrom("127.0.0.3"), "x")
	r.awaitEnded(relay.LimitPerSource, 3)
	r.awaitActive(3)
	first.Close()
	r.awaitActive(2)
	expectEcho(t, r.connectFrom("127.0.0.2"), "x")
	r.expectTurnedAwayFrom("127.0.0.2")
}

// The source is whom the session is for, as the PROXY header tells.
func TestSourcesAreCountedByAddressOrByV6Subnet(t *testing.T) {
	r := serve(t, Config{MaxPerSource: 1, Proxy: trustLoopback}, backend(t, echo).config("b"))
	for _, c := range []struct {
		source string
		served bool
	}{
		{"192.0.2.1", true}, {"192.0.2.2", true}, {"192.0.2.1", false},
		{"::ffff:192.0.2.1", false}, // the same in IPv6's clothes
		{"::ffff:192.0.2.3", true}, {"192.0.2.3", false},
		{"2001:db8::1", true}, {"2001:db8::2", false}, {"2001:db8:0:0:ffff::", false}, // one /64
		{"2001:db8:0:1::1", true},
	} {
		family, to := "TCP4", "192.0.2.99"
		if len(c.source) > 0 && c.source[0] == ':' || c.source[:4] == "2001" {
			family, to = "TCP6", "2001:db8::99"
		}
		client := r.connect()
		send(t, client, fmt.Sprintf("PROXY %s %s %s 1 2\r\nx", family, c.source, to))
		want := "x"
		if !c.served {
			want = ""
		}
		b := make([]byte, 1)
		n, err := client.Read(b)
		if string(b[:n]) != want || c.served != (err == nil) {
			t.Errorf("%s: read %q, %v", c.source, b[:n], err)
		}
	}
}

func TestWithoutAnAddressThereIsNoLimitBySource(t *testing.T) {
	r := assemble(t, Config{MaxPerSource: 1}, backend(t, echo).config("b"))
	path := r.listen("unix:" + socketDir(t) + "/s").String()
	for range 3 {
		expectEcho(t, dialTest(t, "unix", path, ""), "x")
	}
}

func TestReservationsNeverExceedTheirLimit(t *testing.T) {
	var n, held, most atomic.Int64
	const limit = 7
	parallel(8, func(int) {
		for range 5000 {
			if !reserve(&n, limit) {
				continue
			}
			for h, m := held.Add(1), most.Load(); h > m && !most.CompareAndSwap(m, h); m = most.Load() {
			}
			held.Add(-1)
			n.Add(-1)
		}
	})
	if n.Load() != 0 || most.Load() > limit {
		t.Errorf("%d left, %d at one time", n.Load(), most.Load())
	}
}
