package app

import (
	"runtime"

	"github.com/sluicelb/sluice/l4/relay"
)

const defaultEngine = Loops

func newLoops(pipes int) (relay.Engine, error) {
	return relay.NewLoops(relay.LoopsConfig{Loops: loops(), MaxPipes: pipes})
}

// loopDescriptors is an epoll and its wake-up for each loop.
func loopDescriptors() int { return 2 * loops() }

// loops is one less than the threads that Go runs at once, of which main takes one more
// than there are processors.
func loops() int { return max(1, runtime.GOMAXPROCS(0)-1) }
