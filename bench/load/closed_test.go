package load

import (
	"context"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestClientsKeepTheirConnections(t *testing.T) {
	var connections atomic.Int64
	addr := serve(t, func(c net.Conn) {
		connections.Add(1)
		pongs(c)
	})
	var tally Tally
	Requests{Addr: addr, Protocol: Redis(), Clients: 5}.Run(until(t, &tally, 500, 0), &tally)
	if tally.Done() < 500 || tally.Failures() != nil {
		t.Errorf("%d done, %v (%v)", tally.Done(), tally.Failures(), tally.Err())
	}
	if n := connections.Load(); n != 5 {
		t.Errorf("%d connections for 5 clients", n)
	}
}

func TestAClientWhoseConnectionFailsMakesAnother(t *testing.T) {
	addr := serve(t, func(c net.Conn) { // one answer each
		_, _ = io.ReadFull(c, make([]byte, len(Redis().Request)))
		_, _ = c.Write([]byte("+PONG\r\n"))
	})
	var tally Tally
	Requests{Addr: addr, Protocol: Redis(), Clients: 2}.Run(until(t, &tally, 4, 3), &tally)
	kinds := slices.Sorted(maps.Keys(tally.Failures()))
	for _, kind := range kinds {
		if kind != Closed && kind != Reset { // a reset if the next request came before the end
			t.Errorf("%v", tally.Failures())
		}
	}
}

func TestEachConnectionExchangesOnceAndEndsInOrder(t *testing.T) {
	var connections, orderly atomic.Int64
	var mu sync.Mutex
	sources := map[string]bool{}
	answer := pages("HTTP/1.1 200 OK\r\nContent-Length: 5", "hello")
	addr := serve(t, func(c net.Conn) {
		connections.Add(1)
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		mu.Lock()
		sources[host] = true
		mu.Unlock()
		answer(c)
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			orderly.Add(1)
		}
	})
	var tally Tally
	Connections{Addr: addr, Protocol: HTTP("/", []byte("hello")), Clients: 3}.Run(until(t, &tally, 60, 0), &tally)
	if tally.Failures() != nil {
		t.Errorf("%v (%v)", tally.Failures(), tally.Err())
	}
	if n := connections.Load(); n != tally.Done() {
		t.Errorf("%d connections for %d exchanges", n, tally.Done())
	}
	if sourceOf(0) == nil {
		return
	}
	want := []string{"127.1.0.1", "127.1.0.2", "127.1.0.3"}
	if got := slices.Sorted(maps.Keys(sources)); !slices.Equal(got, want) {
		t.Errorf("from %v", got)
	}
}

func TestFailuresOfConnectionsAreCountedByKind(t *testing.T) {
	// Nobody listens on the port of a connection's own end, or can be given it meanwhile.
	held, err := net.Dial("tcp", serve(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	tests := []struct {
		name string
		addr string
		want Failure
	}{
		{"refuses", held.LocalAddr().String(), Refused},
		{"resets", serve(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1000))
			reset(c)
		}), Reset},
		{"closes", serve(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1000)) }), Closed},
		{"errs", serve(t, pages("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0", "")), Wrong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tally Tally
			Connections{Addr: tt.addr, Protocol: HTTP("/", []byte("hello")), Clients: 2}.Run(until(t, &tally, 0, 4), &tally)
			if got := slices.Sorted(maps.Keys(tally.Failures())); !slices.Equal(got, []Failure{tt.want}) || tally.Done() != 0 {
				t.Errorf("%v (%v), %d done", tally.Failures(), tally.Err(), tally.Done())
			}
		})
	}
}

func TestNothingIsDoneOnceTheContextHasEnded(t *testing.T) {
	addr := serve(t, pongs)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var tally Tally
	Requests{Addr: addr, Protocol: Redis(), Clients: 3}.Run(ctx, &tally)
	Connections{Addr: addr, Protocol: Redis(), Clients: 3}.Run(ctx, &tally)
	Bulk{Addr: addr, Streams: 3}.Run(ctx, &tally)
	if tally.Done() != 0 || tally.Failures() != nil {
		t.Errorf("%d, %v", tally.Done(), tally.Failures())
	}
}

func TestClientsHaveAddressesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for i := range 60_000 {
		a := sourceOf(i)
		if a == nil {
			return // not on Linux
		}
		ip := a.(*net.TCPAddr).IP
		if !ip.IsLoopback() || ip[15] == 0 || ip[15] == 255 || seen[ip.String()] {
			t.Fatalf("client %d: %v", i, ip)
		}
		seen[ip.String()] = true
	}
}
