package app

import (
	"runtime"

	"github.com/sluicelb/sluice/l4/relay"
)

const defaultEngine = Loops

func newLoops(pipes int) (relay.Engine, error) {
	return relay.NewLoops(relay.LoopsConfig{MaxPipes: pipes})
}

// loopDescriptors is an epoll and its wake-up for each loop.
func loopDescriptors() int { return 2 * runtime.GOMAXPROCS(0) }
