//go:build !linux

package l4

import (
	"errors"

	"github.com/sluicelb/sluice/l4/relay"
)

var systemEngines = []string{"portable"}

func newLoops() (relay.Engine, error) { return nil, errors.ErrUnsupported }
