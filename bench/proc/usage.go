package proc

import (
	"fmt"
	"slices"
	"time"
)

// CPU is what a process and its descendants have used since they began.
type CPU struct {
	pids []int
	used time.Duration
}

// CPU reads the clocks of the process and its living descendants. An error wraps
// ErrEnded or errors.ErrUnsupported.
func (p *Process) CPU() (CPU, error) {
	c := CPU{}
	var err error
	if c.pids, err = descendants(p.Pid()); err != nil {
		return CPU{}, fmt.Errorf("cpu of %s: %w", p.name, err)
	}
	for _, pid := range c.pids {
		used, err := cpuTime(pid)
		if err != nil {
			return CPU{}, fmt.Errorf("cpu of %s: %w", p.name, err)
		}
		c.used += used
	}
	return c, nil
}

// Since is what was used since an earlier reading of the same process. An error wraps
// ErrEnded: the descendants are not the same, so the difference means nothing.
func (c CPU) Since(earlier CPU) (time.Duration, error) {
	if !slices.Equal(c.pids, earlier.pids) {
		return 0, fmt.Errorf("%w: or began, while its CPU was measured: %v before, %v after", ErrEnded, earlier.pids, c.pids)
	}
	return c.used - earlier.used, nil
}

// Holdings is what a process and its descendants hold.
type Holdings struct {
	// Anonymous is memory in bytes: RssAnon, summed.
	Anonymous int64
	// Descriptors are the open ones, summed.
	Descriptors int
}

// Holdings reads what the process and its living descendants hold. An error wraps
// ErrEnded or errors.ErrUnsupported.
func (p *Process) Holdings() (Holdings, error) {
	pids, err := descendants(p.Pid())
	if err != nil {
		return Holdings{}, fmt.Errorf("holdings of %s: %w", p.name, err)
	}
	var h Holdings
	for _, pid := range pids {
		anonymous, descriptors, err := holdings(pid)
		if err != nil {
			return Holdings{}, fmt.Errorf("holdings of %s: %w", p.name, err)
		}
		h.Anonymous += anonymous
		h.Descriptors += descriptors
	}
	return h, nil
}
