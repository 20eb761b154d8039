package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/proc"
	"github.com/sluicelb/sluice/bench/stream"
)

// started fails the test where a server cannot be started, and closes it at its end.
func started(t *testing.T, b *Backend, err error) *Backend {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: these tests need redis-server and nginx", err)
	}
	t.Cleanup(b.Close)
	return b
}

// exchange exchanges some times on each of two connections.
func exchange(t *testing.T, addr string, p load.Protocol) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var tally load.Tally
	load.Requests{Addr: addr, Protocol: p, Clients: 2}.Run(ending(ctx, t, &tally), &tally)
	if tally.Done() < 20 || tally.Failures() != nil {
		t.Errorf("%s: %d done, %v (%v)", addr, tally.Done(), tally.Failures(), tally.Err())
	}
}

// ending returns a context that ends after twenty exchanges, or a failure.
func ending(ctx context.Context, t *testing.T, tally *load.Tally) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer cancel()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && tally.Done() < 20 && tally.Err() == nil {
			<-tick.C
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-watched
	})
	return ctx
}

func TestRedisAnswers(t *testing.T) {
	b, err := Redis(t.Context(), t.TempDir())
	started(t, b, err)
	exchange(t, b.Addrs[0], load.Redis())
	if len(b.Addrs) != 1 || !strings.HasPrefix(b.Version, "Redis server v=") || strings.Contains(b.Version, "sha") {
		t.Errorf("%v, %q", b.Addrs, b.Version)
	}
}

func TestHTTPAnswersOnEveryAddress(t *testing.T) {
	b, err := HTTP(t.Context(), t.TempDir())
	started(t, b, err)
	if len(b.Addrs) != httpAddrs || !strings.Contains(b.Version, "nginx") {
		t.Fatalf("%v, %q", b.Addrs, b.Version)
	}
	seen := map[string]bool{}
	for _, addr := range b.Addrs {
		exchange(t, addr, load.HTTP(HTTPPath, HTTPBody()))
		seen[addr] = true
	}
	if len(seen) != httpAddrs {
		t.Errorf("not all differ: %v", b.Addrs)
	}
}

func TestTheStreamServerIsAProcessOfItsOwn(t *testing.T) {
	b, err := Stream(t.Context(), []string{os.Args[0], workerArg})
	started(t, b, err)
	if b.Pid() == os.Getpid() {
		t.Error("it is this one")
	}
	c, err := net.DialTimeout("tcp", b.Addrs[0], 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if err := stream.StartEcho(c); err != nil {
		t.Fatal(err)
	}
	if err := stream.Echo(c, []byte("hello")); err != nil {
		t.Error(err)
	}
}

func TestABackendThatIsClosedIsGone(t *testing.T) {
	b, err := HTTP(t.Context(), t.TempDir())
	started(t, b, err)
	b.Close()
	b.Close() // again
	if err := b.Err(); !errors.Is(err, proc.ErrEnded) {
		t.Errorf("%v", err)
	}
	for _, addr := range b.Addrs {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			t.Errorf("%s still listens", addr)
		}
	}
}

func TestWhatIsNotInstalledIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := find("no-such-server"); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "no-such-server") {
		t.Errorf("%v", err)
	}
}

func TestABackendThatFailsTellsWhy(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		start      func() (*Backend, error)
	}{
		{"stream server", "no luck", func() (*Backend, error) {
			return Stream(t.Context(), []string{"/bin/sh", "-c", "echo no luck; exit 1"})
		}},
		{"redis-server", "", func() (*Backend, error) { return Redis(t.Context(), "/nonexistent") }},
		{"nginx", "", func() (*Backend, error) { return HTTP(t.Context(), "/nonexistent") }},
	} {
		b, err := tt.start()
		if err == nil {
			b.Close()
		}
		if err == nil || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestTheFileHasTheSizeThatIsSaid(t *testing.T) {
	if n := len(HTTPBody()); n != 256 {
		t.Errorf("%d bytes", n)
	}
}
