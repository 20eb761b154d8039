package l4

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
	"github.com/sluicelb/sluice/l4/relay"
)

// engineName is the relay engine of services under test that ask for none. The whole
// suite is to pass on each:
//
//	go test ./l4 -engine portable
var engineName = flag.String("engine", systemEngines[0], "relay `ENGINE` to test on")

func TestMain(m *testing.M) {
	flag.Parse()
	if !slices.Contains(systemEngines, *engineName) {
		fmt.Fprintln(os.Stderr, "engine", *engineName, "is none of", systemEngines)
		os.Exit(2)
	}
	leaktest.Main(m)
}

// withEngine sets the engine under test. Not for a bubble of synctest: event loops
// wait in system calls.
func withEngine(t testing.TB, cfg Config) Config {
	t.Helper()
	if cfg.Engine == nil && *engineName == "loops" {
		e, err := newLoops()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { within(t, "the engine to close", e.Close) })
		cfg.Engine = e
	}
	return cfg
}

var _ func() (relay.Engine, error) = newLoops
