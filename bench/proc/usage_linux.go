package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime reads the CPU clock of a process: CPUCLOCK_SCHED of the whole thread group,
// whose id is made of the pid's complement (include/linux/posix-timers.h).
func cpuTime(pid int) (time.Duration, error) {
	const cpuclockSched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts); err != nil {
		return 0, fmt.Errorf("%w: pid %d: %w", ErrEnded, pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// descendants returns pid and the processes below it, in order.
func descendants(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := make(map[int][]int)
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if parent, ok := parentOf(child); ok {
				children[parent] = append(children[parent], child)
			}
		}
	}
	family := []int{pid}
	for i := 0; i < len(family); i++ {
		family = append(family, children[family[i]]...)
	}
	slices.Sort(family)
	return family, nil
}

// parentOf is the parent of a process, if it has not ended.
func parentOf(pid int) (int, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	return statParent(text)
}

// statParent finds the fourth field of a stat file. The second is in parentheses and
// may hold anything; the third is Z when the process waits to be reaped.
func statParent(text []byte) (int, bool) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 || fields[0][0] == 'Z' {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

func holdings(pid int) (anonymous int64, descriptors int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, gone(pid, err)
	}
	if anonymous, err = rssAnon(status); err != nil {
		return 0, 0, gone(pid, err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, 0, gone(pid, err)
	}
	return anonymous, len(fds), nil
}

// rssAnon finds the line "RssAnon:  1234 kB" in a status file, which one that ended lacks.
func rssAnon(status []byte) (int64, error) {
	_, rest, found := bytes.Cut(status, []byte("\nRssAnon:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	number, unit := bytes.CutSuffix(bytes.TrimSpace(line), []byte(" kB"))
	if !found || !unit {
		return 0, errors.New("no RssAnon in its status")
	}
	kB, err := strconv.ParseInt(string(number), 10, 64)
	return kB << 10, err
}

func gone(pid int, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: pid %d: %w", ErrEnded, pid, err)
}
