package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/proc"
)

// Observed is the fault of a run in which somebody else breaks, or nobody.
const Observed = "observed"

// Target is a running system, which nothing but its clients' experience is known of.
type Target struct {
	Addr string // host:port
	// Protocol is what each client exchanges.
	Protocol load.Protocol
	// Speech is what long sessions say; the zero value = there are none.
	Speech load.Speech
	// Talks is the number of long sessions, if there are any.
	Talks int
	// Rate is of new clients a second, Duration that of the load, Patience how long a client
	// waits; all more than 0.
	Rate               float64
	Duration, Patience time.Duration
	// Second, if not nil, is told of each second when its clients have ended.
	Second func(Second)
}

// Second is what became of the clients that were due in one second.
type Second struct {
	// At is its beginning.
	At                   time.Time
	Served, Late, Failed int
	// Worst is the longest from due to served.
	Worst time.Duration
	// First is how the first that failed did; empty = none did.
	First load.Failure
}

// String is a line for people.
func (s Second) String() string {
	line := fmt.Sprintf("%s  %5d served, worst %v", s.At.Format(time.TimeOnly), s.Served, s.Worst.Round(100*time.Microsecond))
	if s.Late > 0 {
		line += fmt.Sprintf(", %d over 50 ms", s.Late)
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d FAILED (first: %s)", s.Failed, s.First)
	}
	return line
}

// add counts one client.
func (s *Second) add(v load.Visit) {
	switch {
	case v.Failure != "":
		if s.Failed == 0 {
			s.First = v.Failure
		}
		s.Failed++
		return
	case v.Took > late50:
		s.Late++
	}
	s.Served++
	s.Worst = max(s.Worst, v.Took)
}

// seconds gathers the clients of a second, and tells of it when they have ended: a patience
// later, so that seconds are told in order.
type seconds struct {
	Target
	began time.Time
	open  []Second
	told  int // seconds that were told
}

// add counts a client.
func (s *seconds) add(v load.Visit) {
	i := int(v.Due / time.Second)
	for len(s.open) <= i {
		s.open = append(s.open, Second{At: s.began.Add(time.Duration(len(s.open)) * time.Second)})
	}
	s.open[i].add(v)
	s.tell(int((v.Due + v.Took - s.Patience) / time.Second))
}

// tell tells of the seconds before the given one.
func (s *seconds) tell(until int) {
	for ; s.told < min(until, len(s.open)); s.told++ {
		if s.Second != nil {
			s.Second(s.open[s.told])
		}
	}
}

// arrivals are the target's clients. They have no addresses of their own: the target may be
// on another machine, or serve 127.0.0.1 alone, as redis does.
func (t Target) arrivals(began time.Time, each func(load.Visit)) load.Arrivals {
	return load.Arrivals{
		Addr: t.Addr, Rate: t.Rate, Patience: t.Patience, Since: began, Exchange: load.Once(t.Protocol), Each: each,
	}
}

// Observe offers load to a running system until the duration is over or ctx ends, and
// tells what its clients noticed. Errors wrap ErrConfig or errors.ErrUnsupported.
func Observe(ctx context.Context, t Target) (*Result, error) {
	if t.Speech.Size == 0 {
		t.Talks = 0
	}
	if t.Rate <= 0 || t.Duration <= 0 || t.Patience <= 0 {
		return nil, fmt.Errorf("%w: rate %g, duration %v, patience %v: all must be more than 0", ErrConfig, t.Rate, t.Duration, t.Patience)
	}
	if _, err := proc.RaiseFileLimit(); err != nil {
		return nil, fmt.Errorf("failover: %w", err)
	}
	loading, cancel := context.WithTimeout(ctx, t.Duration)
	defer cancel()
	began := time.Now()
	told := seconds{Target: t, began: began}
	var talks []load.Talk
	var talking sync.WaitGroup
	if t.Talks > 0 {
		talking.Go(func() {
			talks = load.Talkers{Addr: t.Addr, Speech: t.Speech, Clients: t.Talks, FirstSession: talkSession, Since: began, Stuck: StuckAfter}.Run(loading)
		})
	}
	visits := t.arrivals(began, told.add).Run(loading)
	talking.Wait()
	told.tell(len(told.open))
	length := min(time.Since(began), t.Duration)
	run := Run{Balancer: t.Addr, Fault: Observed, Round: 1, Length: length}
	observed{any: visits, talks: talks, length: length}.fill(&run)
	r := &Result{
		Started: began, Seconds: time.Since(began).Seconds(), Machine: proc.ThisMachine(), Rounds: 1, Rate: t.Rate, Talks: max(t.Talks, 0), Faults: []string{Observed},
		Balancers: []Balancer{{Name: t.Addr, Kind: "target", Version: t.Protocol.Name}}, Runs: []Run{run},
	}
	if ctx.Err() != nil {
		r.Partial = fmt.Sprintf("interrupted after %v of %v", length.Round(time.Second), t.Duration)
	}
	return r, nil
}
