package l4

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/sluicelb/sluice/l4/leaktest"
	"github.com/sluicelb/sluice/l4/relay"
)

// engineName is the relay engine of services that ask for none:
//
//	go test ./l4 -engine loops
var engineName = flag.String("engine", "portable", "relay `ENGINE` of the services under test: portable or loops")

func TestMain(m *testing.M) {
	flag.Parse()
	if *engineName != "portable" && *engineName != "loops" {
		fmt.Fprintln(os.Stderr, "unknown engine", *engineName)
		os.Exit(2)
	}
	leaktest.Main(m)
}

// withEngine sets the engine that the flag names. Not for a bubble of synctest: event
// loops wait in system calls.
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
