package l4

import (
	"context"
	"slices"
	"time"

	"github.com/sluicelb/sluice/l4/relay"
)

// inFlight is how many backends are dialled at one time for one client.
const inFlight = 2

// race is the dialling for one client: of one backend after the other until one accepts,
// and, if hedge_after says so, of another while one is silent. The first to accept has the
// session; what another one does then is nobody's fault.
type race struct {
	*Session
	ctx     context.Context
	cancel  context.CancelFunc
	dials   []*Backend // under way
	extra   bool       // a descriptor is reserved beside those that each session has
	arrived chan arrival
	hedge   *time.Timer
}

// arrival is the end of a dial.
type arrival struct {
	b     *Backend
	began time.Duration
	conn  relay.Conn
	err   error
}

// race dials until a backend has accepted, or none is left.
func (sess *Session) race() relay.End {
	r := &race{Session: sess, arrived: make(chan arrival, inFlight)}
	r.ctx, r.cancel = context.WithCancel(sess.svc.ctx)
	defer r.end()
	r.hedge = time.NewTimer(0)
	r.hedge.Stop()
	if e := r.begin(); e.Why != relay.Running {
		return e
	}
	for {
		select {
		case a := <-r.arrived:
			r.dials = slices.DeleteFunc(r.dials, func(b *Backend) bool { return b == a.b })
			if done, e := r.arrives(a); done {
				return e
			}
		case <-r.hedge.C:
			r.another()
		}
	}
}

// begin dials the first backend, or goes on with a dial of the engine's that is silent.
func (r *race) begin() relay.End {
	if t := r.troubles; t != nil && t.pending != nil {
		d, b, began := t.pending, r.backend, r.dialled
		t.pending, r.backend = nil, nil
		r.run(b, began, func() (relay.Conn, error) { return r.finishDial(r.ctx, d, began) })
		r.another()
		return relay.End{}
	}
	return r.dialNext()
}

// dialNext dials a backend that has not been tried.
func (r *race) dialNext() relay.End {
	b := r.backend
	if r.backend = nil; b == nil {
		var e relay.End
		if b, e = r.choose(r.dials); b == nil {
			return e
		}
	}
	r.run(b, r.svc.now(), func() (relay.Conn, error) { return r.dial(r.ctx, b) })
	r.awaitHedge()
	return relay.End{}
}

// another dials one more backend, if there is one, since the others are silent.
func (r *race) another() {
	if len(r.dials) == inFlight || r.extra || !r.svc.budget.take(1) {
		return
	}
	r.extra = true
	if r.dialNext().Why == relay.Running {
		r.trouble().hedged++
	} else {
		r.giveExtra()
	}
}

func (r *race) giveExtra() {
	if r.extra {
		r.extra = false
		r.svc.budget.give(1)
	}
}

// awaitHedge has another backend dialled in a while.
func (r *race) awaitHedge() {
	if d := r.cfg.Connect.HedgeAfter; d > 0 && len(r.dials) < inFlight {
		r.hedge.Reset(d)
	}
}

func (r *race) run(b *Backend, began time.Duration, dial func() (relay.Conn, error)) {
	r.dials = append(r.dials, b)
	go func() {
		conn, err := dial()
		r.arrived <- arrival{b, began, conn, err}
	}()
}

// arrives acts on the end of a dial. It returns whether the race is over, and how the
// session ends if no backend was won.
func (r *race) arrives(a arrival) (done bool, e relay.End) {
	err := a.err
	if err == nil {
		r.backend, r.dialled = a.b, a.began
		if err = r.connected(); err == nil {
			return true, r.attach(a.conn)
		}
		abort(a.conn)
		r.backend = nil
	}
	e = r.lost(a.b, a.began, err, relay.Dead(r.relay.Client))
	switch {
	case e.Why == relay.Descriptors && len(r.dials) > 0: // the other one has its own already
	case e.Why != relay.Running:
		return true, e
	}
	r.giveExtra()
	if len(r.dials) > 0 {
		r.awaitHedge() // the other one has been silent for a while
		return false, relay.End{}
	}
	e = r.dialNext()
	return e.Why != relay.Running, e
}

// end gives up the dials that are under way still. What they come to says nothing of
// their backends.
func (r *race) end() {
	r.hedge.Stop()
	r.cancel()
	if len(r.dials) == 0 {
		r.giveExtra()
		return
	}
	r.svc.running.Go(func() {
		for range r.dials {
			a := <-r.arrived
			if a.err == nil {
				abort(a.conn)
			}
			r.svc.giveBack(a.b)
		}
		r.giveExtra()
	})
}

// attach gives the session its backend's connection, unless it was killed meanwhile.
func (sess *Session) attach(conn relay.Conn) relay.End {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.relay.Backend = conn
	sess.heed()
	return sess.killed
}
