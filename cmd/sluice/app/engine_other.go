//go:build !linux

package app

import (
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/l4/relay"
)

const defaultEngine = Portable

func newLoops(int) (relay.Engine, error) {
	return nil, fmt.Errorf("engine %q: %w", Loops, errors.ErrUnsupported)
}

func loopDescriptors() int { return 0 }
