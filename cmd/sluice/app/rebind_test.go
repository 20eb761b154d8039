package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// connects has clients come one after another until the test calls stop, which returns how
// many were served, and fails the test for those that were not.
func connects(t *testing.T, address string) (stop func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var served atomic.Int64
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for ctx.Err() == nil {
				g, err := knock(address)
				if err == nil {
					err = g.talks()
					g.Close()
				}
				if err != nil {
					t.Errorf("a client was lost: %v", err)
					return
				}
				served.Add(1)
			}
		})
	}
	var once sync.Once
	stop = func() int64 {
		once.Do(func() { cancel(); clients.Wait() })
		return served.Load()
	}
	t.Cleanup(func() { stop() })
	eventually(t, "clients come", func() bool { return served.Load() > 2 || t.Failed() })
	return stop
}

// named is web with another name.
func named(name, listen string, backends ...string) string {
	return strings.Replace(web(listen, backends...), "name: web", "name: "+name, 1)
}

// fixed returns an address whose port nobody has on any address, and no dial is given.
func fixed(t *testing.T) string {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp4", fmt.Sprintf("0.0.0.0:%d", 10_000+rand.IntN(22_000)))
		if err == nil {
			defer ln.Close()
			_, port, _ := net.SplitHostPort(ln.Addr().String())
			return "127.0.0.1:" + port
		}
	}
	t.Fatal("no free port between 10000 and 32000")
	return ""
}

func TestARenamedServiceRefusesNoClient(t *testing.T) {
	for _, engine := range []Engine{Default, Portable} {
		t.Run(string(engine.Resolved()), func(t *testing.T) {
			a := talk(t, "a")
			address := fixed(t)
			r := runWith(t, named("n0", address, a.yaml()), Options{Engine: engine})
			stop := connects(t, address)
			for i := range 10 {
				r.becomes(named([]string{"n1", "n0"}[i%2], address, a.yaml()))
			}
			if n := stop(); n == 0 {
				t.Error("no client was served")
			}
			agree(t, r.App)
		})
	}
}

func TestServicesMaySwapTheirAddresses(t *testing.T) {
	a, b := talk(t, "a"), talk(t, "b")
	one, other := fixed(t), fixed(t)
	file := func(x, y string) string {
		return named("a", x, a.yaml()) + strings.TrimPrefix(named("b", y, b.yaml()), "services:\n")
	}
	r := run(t, file(one, other))
	stop := connects(t, one)
	r.becomes(file(other, one))
	if got := visit(t, one).name; got != "b" {
		t.Errorf("%s serves %s", got, one)
	}
	if got := visit(t, other).name; got != "a" {
		t.Errorf("%s serves %s", got, other)
	}
	stop()
}

func TestAnAddressMayBecomeAllAddressesAndBack(t *testing.T) {
	a := talk(t, "a")
	one := fixed(t)
	_, port, _ := net.SplitHostPort(one)
	r := run(t, web(one, a.yaml()))
	g := visit(t, one)
	for _, address := range []string{"0.0.0.0:" + port, one, "0.0.0.0:" + port, one} {
		r.becomes(web(address, a.yaml()))
		if got := r.Addresses("web"); len(got) != 1 || got[0] != address {
			t.Fatalf("it listens on %v, want %s", got, address)
		}
		visit(t, one).lives()
		g.lives()
	}
}

func TestAPortThatTheSystemChoseMayBeWrittenDown(t *testing.T) {
	a := talk(t, "a")
	r := run(t, web(anyPort, a.yaml()))
	address := r.listen("web")
	stop := connects(t, address)
	r.becomes(web(address, a.yaml()))
	stop()
	if r.listen("web") != address {
		t.Errorf("it listens on %s", r.listen("web"))
	}
}

func TestEachPlaceOfPortZeroIsKept(t *testing.T) {
	a := talk(t, "a")
	file := func(n int) string {
		return strings.Replace(web("X", a.yaml()), "'X'", "["+strings.TrimSuffix(strings.Repeat("'"+anyPort+"', ", n), ", ")+"]", 1)
	}
	r := run(t, file(2))
	first := r.Addresses("web")
	r.becomes(file(3))
	three := r.Addresses("web")
	if len(three) != 3 || three[0] != first[0] || three[1] != first[1] {
		t.Fatalf("%v became %v", first, three)
	}
	for _, address := range three {
		visit(t, address)
	}
	r.becomes(file(1))
	if got := r.Addresses("web"); len(got) != 1 || got[0] != three[0] {
		t.Errorf("%v became %v", three, got)
	}
	for i, address := range three {
		if _, err := knock(address); (err == nil) != (i == 0) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestUnixSocketsComeGoAndChangeHands(t *testing.T) {
	a := talk(t, "a")
	dir := t.TempDir()
	one, other := "unix:"+filepath.Join(dir, "one"), "unix:"+filepath.Join(dir, "other")
	r := run(t, named("n0", one, a.yaml()))
	stop := connects(t, one)
	r.becomes(named("n1", one, a.yaml()))
	r.becomes(named("n1", one, a.yaml("weight: 2")))
	stop()
	r.becomes(named("n1", other, a.yaml()))
	visit(t, other).lives()
	if _, err := os.Lstat(strings.TrimPrefix(one, "unix:")); !os.IsNotExist(err) {
		t.Errorf("the old file is left: %v", err)
	}
	r.becomes(named("n1", one, a.yaml()))
	visit(t, one).lives()
	if got := r.Addresses("n1"); len(got) != 1 || got[0] != one {
		t.Errorf("it listens on %v", got)
	}
}

func TestAListenerIsAddedAndRemovedBesideAnother(t *testing.T) {
	a := talk(t, "a")
	one, other := fixed(t), fixed(t)
	r := run(t, web(one, a.yaml()))
	stop := connects(t, one)
	r.becomes(strings.Replace(web("X", a.yaml()), "'X'", "['"+other+"', '"+one+"']", 1))
	if got := r.Addresses("web"); len(got) != 2 || got[0] != other || got[1] != one {
		t.Errorf("it listens on %v", got)
	}
	visit(t, other).lives()
	r.becomes(web(one, a.yaml()))
	stop()
	if _, err := knock(other); err == nil {
		t.Error("the removed address is served")
	}
}
