package l4

import "github.com/sluicelb/sluice/l4/relay"

// systemEngines are what this system has, the one that sluice takes first.
var systemEngines = []string{"loops", "portable"}

func newLoops() (relay.Engine, error) { return relay.NewLoops(relay.LoopsConfig{Loops: 2}) }
