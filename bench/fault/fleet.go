package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/bench/proc"
)

// Fleet is a number of backends that run. Its methods are safe for concurrent use, and
// what concerns one backend waits for what else does.
type Fleet struct{ backends []*backend }

// maxBackends is how many have an address: 127.0.1.1 to 127.0.1.254.
const maxBackends = 254

// startTries is how often a port is looked for that somebody else takes meanwhile.
const startTries = 5

// Start starts n backends, from 1 to 254, in the directory dir; empty = this process's.
// worker is a command line that runs Serve with the two arguments that are added to it:
// the backend's number and address. The caller must call Close.
func Start(ctx context.Context, n int, worker []string, dir string) (*Fleet, error) {
	if n < 1 || n > maxBackends {
		return nil, fmt.Errorf("fault: %d backends, from 1 to %d are possible", n, maxBackends)
	}
	if len(worker) == 0 {
		return nil, errors.New("fault: no worker to run as backend")
	}
	var err error
	for range startTries {
		var f *Fleet
		if f, err = newFleet(n, worker, dir); err != nil {
			break
		}
		if err = f.start(ctx); err == nil {
			return f, nil
		}
		f.Close()
		if !errors.Is(err, proc.ErrEnded) || f.free() {
			break
		}
	}
	return nil, fmt.Errorf("fault: %w", err)
}

// newFleet finds a port that is free on all addresses.
func newFleet(n int, worker []string, dir string) (*Fleet, error) {
	var err error
	for range 100 {
		var ports []int
		if ports, err = proc.FreePorts(1); err != nil {
			return nil, err
		}
		f := &Fleet{}
		now := readClock()
		for i := range n {
			addr := net.JoinHostPort("127.0.1."+strconv.Itoa(i+1), strconv.Itoa(ports[0]))
			f.backends = append(f.backends, &backend{id: i, addr: addr, worker: worker, dir: dir, clock: now})
		}
		if f.free() {
			return f, nil
		}
	}
	return nil, errors.New("no port is free on every address from 127.0.1.1 on")
}

// free tells whether nobody listens on its addresses.
func (f *Fleet) free() bool {
	for _, b := range f.backends {
		ln, err := net.Listen("tcp4", b.addr)
		if err != nil {
			return false
		}
		_ = ln.Close()
	}
	return true
}

func (f *Fleet) start(ctx context.Context) error {
	for _, b := range f.backends {
		if _, err := b.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Addrs are the backends' addresses, host:port, by their index.
func (f *Fleet) Addrs() []string {
	var addrs []string
	for _, b := range f.backends {
		addrs = append(addrs, b.addr)
	}
	return addrs
}

// Close ends all processes and waits for them. Closing twice is allowed.
func (f *Fleet) Close() {
	for _, b := range f.backends {
		b.close()
	}
}

// Err is nil while every process runs that is to; else it wraps proc.ErrEnded and tells
// what the process said last.
func (f *Fleet) Err() error {
	var all []error
	for _, b := range f.backends {
		all = append(all, b.unexpected())
	}
	return errors.Join(all...)
}

// Break breaks backend i, from 0, and returns when that is known to be in force. A
// sequence (Flap, AllDown, Rolling) is refused, and a backend that is broken already. An
// error wraps proc.ErrEnded if the process has ended by itself.
func (f *Fleet) Break(ctx context.Context, i int, fault Fault) error {
	return f.inject(i, "break", fault, func(b *backend) error { return b.breakBy(ctx, fault) })
}

// Mend undoes Break, and returns when the backend answers new connections again.
func (f *Fleet) Mend(ctx context.Context, i int, fault Fault) error {
	return f.inject(i, "mend", fault, func(b *backend) error { return b.mend(ctx, fault) })
}

// inject does one thing to one backend.
func (f *Fleet) inject(i int, what string, fault Fault, do func(*backend) error) error {
	if fault.Title() == "" {
		return fmt.Errorf("%w: %q", ErrUnknown, fault)
	}
	if fault.Step() != fault {
		return fmt.Errorf("fault: %s is a sequence of %s, and nothing to %s one backend with", fault, fault.Step(), what)
	}
	return f.with(i, func(b *backend) error {
		if err := do(b); err != nil {
			return fmt.Errorf("fault: %s backend %d (%s): %w", what, i, fault, err)
		}
		return nil
	})
}

// with does something with backend i while nothing else is done to it.
func (f *Fleet) with(i int, do func(*backend) error) error {
	if i < 0 || i >= len(f.backends) {
		return fmt.Errorf("fault: no backend %d, there are %d, from 0", i, len(f.backends))
	}
	b := f.backends[i]
	b.mu.Lock()
	defer b.mu.Unlock()
	return do(b)
}

// Period is a time in which a backend was broken.
type Period struct {
	Fault Fault
	// From is when the fault was in force, To when it was undone; zero = not yet. They may
	// be subtracted from this process's other times, also if its clock is set meanwhile.
	From, To time.Time
}

// holds returns since when a message that came at a time, and was read at another, waited
// within the period.
func (p Period) holds(came, read time.Time) (at time.Time, ok bool) {
	if read.Before(p.From) || !p.To.IsZero() && !came.Before(p.To) {
		return time.Time{}, false
	}
	if came.Before(p.From) {
		came = p.From
	}
	return came, true
}

// Periods are those of backend i so far, in order.
func (f *Fleet) Periods(i int) ([]Period, error) {
	var all []Period
	err := f.with(i, func(b *backend) error {
		all = append(all, b.periods...)
		return nil
	})
	return all, err
}

// Seen is a session whose first message reached a broken backend.
type Seen struct {
	Session uint64
	// At is when the system received it for the backend, or some milliseconds later; it may
	// be subtracted from this process's other times.
	At time.Time
}

// Seen are the sessions that reached backend i while it was broken, as far as it knows: not
// those of a process that was killed or has ended since, nor those it reset unread. Those
// that reached a process that was stopped are known once it goes on. To ask one that is
// stopped is an error.
func (f *Fleet) Seen(i int) ([]Seen, error) {
	var seen []Seen
	err := f.with(i, func(b *backend) error {
		r, err := b.report()
		if err != nil {
			return fmt.Errorf("fault: report of backend %d: %w", i, err)
		}
		for _, s := range r.Seen {
			if at, ok := b.brokenAt(s); ok && s.Session != checkSession {
				seen = append(seen, Seen{s.Session, at})
			}
		}
		return nil
	})
	return seen, err
}

// Wrong is an error that tells how many sessions sent backend i what is wrong, and what the
// first did; nil if none. What a process that has ended knew is lost.
func (f *Fleet) Wrong(i int) error {
	return f.with(i, func(b *backend) error {
		r, err := b.report()
		switch {
		case err != nil:
			return fmt.Errorf("fault: report of backend %d: %w", i, err)
		case r.Wrong > 0:
			return fmt.Errorf("fault: %d sessions of backend %d broke the protocol, the first: %s", r.Wrong, i, r.FirstWrong)
		}
		return nil
	})
}
