package picker

import (
	"slices"
	"testing"
	"time"
)

// server works one job at a time in the order of arrival.
type server struct {
	done []time.Duration // when each of its jobs ends, ascending
}

// inside is how many jobs wait or are worked on at the given time. A job that
// ends at this very moment has left.
func (s *server) inside(now time.Duration) int64 {
	n := 0
	for k := len(s.done) - 1; k >= 0 && s.done[k] > now; k-- {
		n++
	}
	return int64(n)
}

// arrive queues a job and returns its wait: the time until work on it begins,
// without the work itself.
func (s *server) arrive(now, work time.Duration) time.Duration {
	start := now
	if k := len(s.done); k > 0 {
		start = max(start, s.done[k-1])
	}
	s.done = append(s.done, start+work)
	return start - now
}

// waits plays 500 jobs on two servers: one every 20 ms, and every seventh from
// the first on takes 200 ms, the others 10 ms. Time is only counted, never spent.
func waits(backends []Backend, p Picker) []time.Duration {
	servers := make([]server, len(backends))
	all := make([]time.Duration, 500)
	for job := range all {
		now, work := time.Duration(job)*20*time.Millisecond, 10*time.Millisecond
		if job%7 == 0 {
			work = 200 * time.Millisecond
		}
		for i := range servers {
			backends[i].Load.Store(servers[i].inside(now))
		}
		all[job] = servers[p.Pick(0, nil)].arrive(now, work)
	}
	slices.Sort(all)
	return all
}

// Round-robin sends every second long job behind the tail of another one;
// counting the jobs inside avoids that for most, and not for the worst.
func TestQueueingUnderRoundRobinAndLeastConn(t *testing.T) {
	firstOnATie := func(int) bool { return false }
	two := equal(2)
	tests := []struct {
		policy   string
		backends []Backend
		picker   Picker
		average  time.Duration // to a tenth of a millisecond
		median   time.Duration
		p99, max time.Duration
	}{
		{RoundRobin, two, mustNew(t, RoundRobin, two, Options{}), 72600 * time.Microsecond,
			70 * time.Millisecond, 160 * time.Millisecond, 160 * time.Millisecond},
		{LeastConn, two, newLeastConn(two, nil, firstOnATie), 53500 * time.Microsecond,
			10 * time.Millisecond, 180 * time.Millisecond, 180 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			all := waits(test.backends, test.picker)
			sum := time.Duration(0)
			for _, w := range all {
				sum += w
			}
			n := len(all)
			average := (sum / time.Duration(n)).Round(100 * time.Microsecond)
			// Nearest rank: the least wait that 50 or 99 % do not exceed.
			median, p99 := all[n*50/100-1], all[n*99/100-1]
			if average != test.average || median != test.median || p99 != test.p99 || all[n-1] != test.max {
				t.Errorf("waits: average %v, median %v, p99 %v, max %v; want %v, %v, %v, %v",
					average, median, p99, all[n-1], test.average, test.median, test.p99, test.max)
			}
		})
	}
}
