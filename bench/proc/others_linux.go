package proc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func moment() (Moment, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Moment{}, err
	}
	m := Moment{at: time.Now()}
	if m.busy, m.cores, err = busyTime(string(text)); err != nil {
		return Moment{}, err
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return Moment{}, err
		}
		m.own += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return m, nil
}

// tick is the unit of /proc/stat: USER_HZ is 100 everywhere.
const tick = 10 * time.Millisecond

// busyTime reads the first line of /proc/stat (proc(5)): user, nice, system, idle,
// iowait, irq, softirq, steal; guests are part of user. The cores have a line each.
func busyTime(stat string) (busy time.Duration, cores int, err error) {
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu"):
		case fields[0] != "cpu":
			cores++
		default:
			for i, field := range fields[1:9] {
				n, err := strconv.ParseInt(field, 10, 64)
				if err != nil {
					return 0, 0, err
				}
				if i != 3 && i != 4 { // idle, waiting
					busy += time.Duration(n) * tick
				}
			}
		}
	}
	if cores == 0 {
		return 0, 0, errors.New("proc: no cores in /proc/stat")
	}
	return busy, cores, nil
}
