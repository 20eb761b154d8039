package relay

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// silent is a connection that the system knows nothing of.
type silent struct {
	net.Conn
	began time.Time
	at    atomic.Int64 // nanoseconds after began at which it was closed

	ending func() // called by CloseWrite
}

func newSilent() *silent {
	c, _ := net.Pipe()
	return &silent{Conn: c, began: time.Now()}
}

func (c *silent) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

func (c *silent) CloseWrite() error {
	if c.ending != nil {
		c.ending()
	}
	return nil
}

func (c *silent) Close() error {
	c.at.Store(int64(time.Since(c.began)))
	return c.Conn.Close()
}

// act is what happens to a session some time after its start.
type act struct {
	at time.Duration
	do func(r *run)
}

func TestTheInactivityLimitsAreExact(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	moved := func(r *run) { r.count(ToBackend, 1) }
	ended := func(r *run) { r.pumps[ToClient].passEnd() }
	failed := func(r *run) { r.pumps[ToBackend].destinationFailed(syscall.EPIPE) }
	for _, c := range []struct {
		name   string
		limits Limits
		acts   []act
		end    time.Duration
		why    Why
	}{
		{"nothing ever moves", Limits{Idle: 3 * s}, nil, 3 * s, Idle},
		{"bytes at the start only", Limits{Idle: 3 * s}, []act{{0, moved}, {ms, moved}}, 3*s + ms, Idle},
		{"bytes just before the limit", Limits{Idle: 3 * s}, []act{{3*s - 1, moved}}, 6*s - 1, Idle},
		{"a limit longer than a patrol", Limits{Idle: time.Minute}, []act{{ms, moved}}, time.Minute + ms, Idle},
		{"a limit shorter than a patrol", Limits{Idle: s, User: time.Hour}, []act{{ms, moved}}, s + ms, Idle},
		{"with patrols on the way", Limits{Idle: 3 * s, User: 700 * ms}, []act{{ms, moved}}, 3*s + ms, Idle},
		{"an end", Limits{Idle: time.Hour, HalfClose: 5 * s}, []act{{21 * s, ended}}, 26 * s, HalfClose},
		{"an end, with patrols", Limits{HalfClose: 5 * s, User: 4 * s}, []act{{21 * s, ended}}, 26 * s, HalfClose},
		{"an end, then bytes", Limits{HalfClose: 5 * s}, []act{{21 * s, ended}, {24 * s, moved}}, 29 * s, HalfClose},
		{"a fault", Limits{HalfClose: 5 * s}, []act{{21 * s, failed}}, 26 * s, HalfClose},
		{"a fault, with patrols", Limits{HalfClose: 5 * s, User: 4 * s}, []act{{21 * s, failed}}, 26 * s, HalfClose},
		{"a fault, with the shorter idle", Limits{Idle: 3 * s, HalfClose: 5 * s}, []act{{s, failed}}, 4 * s, Idle},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, backend := newSilent(), newSilent()
				r := newRun(&Portable{}, &Session{Ends: &Ends{Client: client, Backend: backend}, Limits: &c.limits})
				r.watch()
				for _, a := range c.acts {
					time.Sleep(a.at - time.Since(r.began))
					a.do(r)
				}
				time.Sleep(time.Hour) // and more than any of the limits
				r.stopWatch()
				synctest.Wait()
				for _, conn := range []*silent{client, backend} {
					if at := time.Duration(conn.at.Load()); at != c.end {
						t.Errorf("closed after %v, want %v", at, c.end)
					}
				}
				if end := r.concluded(); end != (End{Sluice, c.why}) {
					t.Errorf("ended by %v, want %v", end, c.why)
				}
			})
		})
	}
}

func TestAPatrolDuringAnEndDoesNotCountTheTimeBefore(t *testing.T) {
	for _, dir := range []Direction{ToBackend, ToClient} {
		synctest.Test(t, func(t *testing.T) {
			legs := [2]*silent{newSilent(), newSilent()} // by the direction that leads to them
			r := newRun(&Portable{}, &Session{Ends: &Ends{Client: legs[ToClient], Backend: legs[ToBackend]}, Limits: &Limits{HalfClose: time.Second}})
			defer r.stopWatch()
			legs[dir].ending = func() {
				if e := r.look(); e != (End{}) {
					t.Errorf("%v: ended by %v", dir, e)
				}
			}
			time.Sleep(time.Minute)
			r.pumps[dir].passEnd()
		})
	}
}
