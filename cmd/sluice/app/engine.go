package app

import (
	"fmt"

	"github.com/sluicelb/sluice/l4/relay"
)

// Engine names what relays the sessions.
type Engine string

// The engines. Loops is to be had on Linux only; Default is Loops there and Portable
// elsewhere.
const (
	Default  Engine = ""
	Portable Engine = "portable"
	Loops    Engine = "loops"
)

// descriptors returns how many the engine holds for itself.
func (e Engine) descriptors() int {
	if e.Resolved() == Loops {
		return loopDescriptors()
	}
	return 0
}

// Resolved names the engine that e stands for.
func (e Engine) Resolved() Engine {
	if e == Default {
		return defaultEngine
	}
	return e
}

// make starts the engine. It may hold so many pipes.
func (e Engine) make(pipes int) (relay.Engine, error) {
	switch e.Resolved() {
	case Portable:
		return &relay.Portable{MaxPipes: pipes}, nil
	case Loops:
		return newLoops(pipes)
	}
	return nil, fmt.Errorf("unknown engine %q: portable or loops", string(e))
}
