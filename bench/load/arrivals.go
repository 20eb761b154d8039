package load

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Arrivals is an open loop of new clients: each comes when it is due, whatever became of
// those before it, connects, exchanges once and leaves.
type Arrivals struct {
	Addr string
	// Rate is of clients a second, more than 0.
	Rate float64
	// Sources is how many addresses of 127.0.0.0/8 they come from in turn; zero = the system
	// chooses, and less than some 25,000 can come in a minute.
	Sources int
	// FirstSource is where those addresses begin, so that two loads have different ones.
	FirstSource int
	// Patience is how long each waits from the instant at which it was due, more than 0.
	Patience time.Duration
	// Exchange says something on a connection, whose deadline is set, and returns who
	// answered; -1 = it cannot be known.
	Exchange func(c net.Conn, session uint64) (backend int, err error)
	// FirstSession is the number of the first client's session.
	FirstSession uint64
	// Since is when the load began; zero = now. The first client is due then.
	Since time.Time
	// Each, if not nil, is given each client when it has ended, one at a time.
	Each func(Visit)
}

// Run offers the load until ctx ends and every client that was due before then has ended,
// and returns them in the order in which they were due. One that could not be started in
// time is started late. Not more than Rate × Patience are held at once.
func (a Arrivals) Run(ctx context.Context) []Visit {
	if a.Since.IsZero() {
		a.Since = time.Now()
	}
	var visits visits
	var running sync.WaitGroup
	end := endOf(ctx)
	for i := 0; ; i++ {
		due := time.Duration(float64(i) / a.Rate * float64(time.Second))
		if pauseUntil(ctx, a.Since.Add(due)); !a.Since.Add(due).Before(end()) {
			break
		}
		running.Go(func() { visits.add(a.visit(i, due), a.Each) })
	}
	running.Wait()
	slices.SortFunc(visits.all, func(a, b Visit) int { return cmp.Compare(a.Due, b.Due) })
	return visits.all
}

// endOf tells when ctx ends or has ended, as far as is known; a deadline is known before, so
// that how many are due by then does not depend on who is woken first.
func endOf(ctx context.Context) func() time.Time {
	end, known := ctx.Deadline()
	if !known {
		end = time.Now().Add(forever)
	}
	cut := false
	return func() time.Time {
		if ctx.Err() != nil && !cut {
			cut = true
			if now := time.Now(); now.Before(end) {
				end = now
			}
		}
		return end
	}
}

const forever = 100 * 365 * 24 * time.Hour

// pauseUntil waits finely until t, or ctx ends.
func pauseUntil(ctx context.Context, t time.Time) {
	for wait := time.Until(t); wait > 0 && ctx.Err() == nil; wait = time.Until(t) {
		Sleep(min(wait, maxPause))
	}
}

// visits gathers those that have ended.
type visits struct {
	mu  sync.Mutex
	all []Visit
}

func (v *visits) add(visit Visit, each func(Visit)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = append(v.all, visit)
	if each != nil {
		each(visit)
	}
}

// visit is the i-th client.
func (a Arrivals) visit(i int, due time.Duration) Visit {
	v := Visit{Due: due, Late: time.Since(a.Since) - due, Session: a.FirstSession + uint64(i), Backend: -1}
	var source net.Addr
	if a.Sources > 0 {
		v.Source = i % a.Sources
		source = sourceOf(a.FirstSource + v.Source)
	}
	backend, err := a.exchange(source, v.Session, a.Since.Add(due+a.Patience))
	v.Took = time.Since(a.Since) - due
	if err != nil {
		v.Failure, v.Err = FailureOf(err), err
		return v
	}
	v.Backend = backend
	return v
}

func (a Arrivals) exchange(source net.Addr, session uint64, deadline time.Time) (int, error) {
	d := net.Dialer{Deadline: deadline, LocalAddr: source, KeepAlive: -1}
	if source != nil {
		d.Control = latePort
	}
	c, err := d.Dial("tcp", a.Addr)
	if err != nil {
		return -1, err
	}
	defer c.Close()
	if err := c.SetDeadline(deadline); err != nil {
		return -1, err
	}
	return a.Exchange(c, session)
}

// Once is an exchange of p, for Arrivals: nobody knows who answers.
func Once(p Protocol) func(net.Conn, uint64) (int, error) {
	return func(c net.Conn, _ uint64) (int, error) {
		if err := newClient(c).say(p); err != nil && !errors.Is(err, errLast) {
			return -1, err
		}
		return -1, nil
	}
}
