//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/sluice/e2e/parts"
	"github.com/sluicelb/sluice/l4/leaktest"
)

// binaryEnv hands the binary with the race detector to a test that runs again in a namespace of its own, plainEnv the
// one without.
const (
	binaryEnv = "SLUICE_E2E_BINARY"
	plainEnv  = "SLUICE_E2E_PLAIN"
)

// buildDir is where the binaries of this run are; TestMain sets it. Each is built at most once.
var (
	buildDir   string
	buildRace  = sync.OnceValues(func() (string, error) { return buildInto(true) })
	buildPlain = sync.OnceValues(func() (string, error) { return buildInto(false) })
)

func TestMain(m *testing.M) {
	if parts.RunPeer(peers) {
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	buildDir = dir
	return leaktest.Run(m)
}

func buildInto(race bool) (string, error) {
	name := plainEnv
	if race {
		name = binaryEnv
	}
	if path := os.Getenv(name); path != "" {
		return path, nil
	}
	return parts.Build(buildDir, race)
}

// binary is sluice built with the race detector.
func binary(t testing.TB) string {
	t.Helper()
	return built(t, buildRace)
}

// plainBinary is sluice as users build it, for tests that measure.
func plainBinary(t testing.TB) string {
	t.Helper()
	return built(t, buildPlain)
}

func built(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run starts the race-checked sluice with a configuration file.
func run(t testing.TB, yaml string) *parts.Sluice {
	t.Helper()
	return parts.RunSluice(t, parts.Config{Binary: binary(t), YAML: yaml})
}

// service is a configuration of one service s on a free port. keys are further keys of it, one a line; the backends
// are called b1, b2... in their order, and one that starts with a brace stands as it is.
func service(keys string, backends ...string) string {
	var b strings.Builder
	b.WriteString("services:\n  - name: s\n")
	if !strings.Contains(keys, "listen:") {
		b.WriteString("    listen: 127.0.0.1:0\n")
	}
	for line := range strings.Lines(keys) {
		fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
	}
	b.WriteString("    backends:\n")
	for i, addr := range backends {
		if strings.HasPrefix(addr, "{") {
			fmt.Fprintf(&b, "      - %s\n", addr)
			continue
		}
		fmt.Fprintf(&b, "      - {address: \"%s\", name: b%d}\n", addr, i+1)
	}
	return b.String()
}

// noCheck turns probes off.
const noCheck = "check: {type: none}\n"

// fastCheck is a connect probe that notices within half a second.
const fastCheck = "check: {type: tcp, interval: 100ms, timeout: 1s, rise: 2, fall: 2}\n"

// start runs one service and returns its address too.
func start(t testing.TB, keys string, backends ...string) (*parts.Sluice, string) {
	t.Helper()
	s := run(t, service(keys, backends...))
	return s, s.Addr(t, "s")
}

// greeters starts n backends that greet with b1, b2...
func greeters(t testing.TB, n int) ([]*parts.Backend, []string) {
	t.Helper()
	list, addrs := make([]*parts.Backend, n), make([]string, n)
	for i := range list {
		list[i] = parts.Serve(t, parts.Greet(fmt.Sprintf("b%d", i+1)))
		addrs[i] = list[i].Addr
	}
	return list, addrs
}

// whoNow is the name of the backend a new client from source gets.
func whoNow(t testing.TB, source, addr string) string {
	t.Helper()
	name, err := parts.Who(source, addr)
	if err != nil {
		t.Fatalf("client from %q to %s: %v", source, addr, err)
	}
	return name
}

// tally connects n times, one after the other, and counts who answered.
func tally(t testing.TB, n int, addr string) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range n {
		got[whoNow(t, "", addr)]++
	}
	return got
}

// each runs f for 0..n-1 at once and waits for all; f reports errors by returning them.
func each(t testing.TB, n int, f func(i int) error) {
	t.Helper()
	errs := make(chan error, n)
	for i := range n {
		go func() {
			err := errors.New("a parallel client gave up") // unless f returns: Fatal ends the goroutine
			defer func() { errs <- err }()
			err = f(i)
		}()
	}
	end := time.After(time.Minute)
	for range n {
		select {
		case err := <-errs:
			if err != nil {
				t.Error(err)
			}
		case <-end:
			t.Fatalf("%d parallel clients did not end within a minute", n)
		}
	}
}

// elapsed fails the test unless what took between least and most.
func elapsed(t testing.TB, what string, since time.Time, least, most time.Duration) {
	t.Helper()
	if d := time.Since(since); d < least || d > most {
		t.Errorf("%s took %v, want between %v and %v", what, d, least, most)
	}
}
