package app

import "github.com/sluicelb/sluice/l4/relay"

const defaultEngine = Loops

func newLoops(pipes int) (relay.Engine, error) {
	return relay.NewLoops(relay.LoopsConfig{MaxPipes: pipes})
}

func loopDescriptors() int { return relay.LoopsConfig{}.Descriptors() }
