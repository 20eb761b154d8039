package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/config"
	"github.com/sluicelb/sluice/l4/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const patience = 10 * time.Second

// start runs the given file until the test ends, and returns it with what it logs.
func start(t *testing.T, yaml string) (*App, *lockedBuffer) {
	t.Helper()
	return startOn(t, Default, yaml)
}

func startOn(t *testing.T, engine Engine, yaml string) (*App, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{grown: make(chan struct{}, 1)}
	a, err := New(parse(t, yaml), Options{Engine: engine, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a.Drain(ctx, nil)
	})
	return a, log
}

func parse(t *testing.T, yaml string) config.File {
	t.Helper()
	file, err := config.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// greeter is a backend that sends its name and ends.
func greeter(t *testing.T, name string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, name)
			c.Close()
		}
	}()
	return ln.Addr().String()
}

func ask(t *testing.T, address string) (string, error) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c)
	return string(b), err
}

func TestServicesServeSideBySide(t *testing.T) {
	a, log := start(t, `
services:
  - {name: one, listen: ['127.0.0.1:0', '127.0.0.1:0'], backends: ['`+greeter(t, "first")+`']}
  - {name: two, listen: 127.0.0.1:0, backends: ['`+greeter(t, "second")+`']}
`)
	for service, want := range map[string]string{"one": "first", "two": "second"} {
		for _, address := range a.Addresses(service) {
			if got, err := ask(t, address); got != want {
				t.Errorf("%s at %s answered %q, %v", service, address, got, err)
			}
			log.waitFor(t, "msg=listening service="+service+" address="+address)
		}
	}
	if n := len(a.Addresses("one")); n != 2 {
		t.Errorf("service one listens on %d addresses", n)
	}
	if a.L4("three") != nil || len(a.Addresses("three")) != 0 {
		t.Error("a service that is not there was found")
	}
}

func TestATakenPortStartsNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	a, err := New(parse(t, `
services:
  - {name: one, listen: '`+free.Addr().String()+`', backends: ['127.0.0.1:1']}
  - {name: two, listen: '`+taken.Addr().String()+`', backends: ['127.0.0.1:1']}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Start(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), `"two"`) || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("error: %v", err)
	}
	again, err := net.Listen("tcp", free.Addr().String())
	if err != nil {
		t.Fatalf("the first service's port was kept: %v", err)
	}
	again.Close()
}

func TestADeadBackendIsSeenByItsProbeAndByDials(t *testing.T) {
	a, log := start(t, `
services:
  - name: web
    listen: 127.0.0.1:0
    backends: ['`+greeter(t, "alive")+`', {address: '127.0.0.1:1', name: dead}]
`)
	log.waitFor(t, `msg="backend down" service=web backend=dead address=127.0.0.1:1 source=probe`)
	for range 10 {
		if got, err := ask(t, a.Addresses("web")[0]); got != "alive" {
			t.Fatalf("answer %q, %v", got, err)
		}
	}
}

func TestAFailedDialEjectsWhereNothingIsProbed(t *testing.T) {
	a, log := start(t, `
services:
  - name: web
    listen: 127.0.0.1:0
    check: {type: none}
    backends: [{address: '127.0.0.1:1', name: dead}, '`+greeter(t, "alive")+`']
`)
	for range 10 {
		if got, err := ask(t, a.Addresses("web")[0]); got != "alive" {
			t.Fatalf("answer %q, %v", got, err)
		}
	}
	log.waitFor(t, `msg="backend down" service=web backend=dead address=127.0.0.1:1 source=dial`)
	if b := a.L4("web").Backends()[0]; !b.Ejected || b.DialFailures["refused"] != 1 {
		t.Errorf("dead backend: %+v; want one refused dial and an ejection", b)
	}
}

func TestADrainWaitsForSessionsAndResetsThoseThatAreLeft(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	a, log := start(t, "services: [{name: web, listen: '127.0.0.1:0', check: {type: none}, backends: ['"+silent.Addr().String()+"']}]")
	c, err := net.Dial("tcp", a.Addresses("web")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	forced := make(chan int)
	go func() { forced <- a.Drain(ctx, nil) }()
	log.waitFor(t, "msg=draining sessions=1")
	select {
	case <-forced:
		t.Fatal("the drain did not wait")
	default:
	}
	cancel()
	if n := <-forced; n != 1 {
		t.Errorf("%d sessions forced, want 1", n)
	}
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v, want a reset", err)
	}
}

// lockedBuffer is a log that can be waited on.
type lockedBuffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	grown chan struct{} // holds a token when something was written since it was last taken
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grown <- struct{}{}:
	default:
	}
	return l.buf.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lockedBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	late := time.After(patience)
	for !strings.Contains(l.String(), text) {
		select {
		case <-l.grown:
		case <-late:
			t.Fatalf("no %q in the log:\n%s", text, l)
		}
	}
}
