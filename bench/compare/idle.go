package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/bench/balancer"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/proc"
)

// warmSessions come and go before idle ones are measured: one for so many.
const warmSessions = 30

// Settling: readings this far apart, until so many in a row have as many descriptors,
// or for so long at most.
const (
	settleEvery  = 30 * time.Millisecond
	settleEqual  = 4
	settleWithin = 3 * time.Second
)

// idle measures idle sessions on a fresh process.
func (r *runner) idle(ctx context.Context, m measurement) error {
	i, err := balancer.Start(ctx, m.target.spec, r.dir, r.settings())
	if err != nil {
		return err
	}
	defer i.Close()
	var tally load.Tally
	defer m.failures(&tally)
	addr := i.Addr(serviceStream)
	load.OpenIdle(ctx, addr, r.result.Sessions/warmSessions, &tally).Close()
	base, err := settled(ctx, i.Process)
	if err != nil {
		return err
	}
	first, err := r.hold(ctx, i, addr, &tally)
	if err != nil {
		return err
	}
	left, err := settled(ctx, i.Process)
	if err != nil {
		return err
	}
	again, err := r.hold(ctx, i, addr, &tally)
	if err != nil {
		return err
	}
	n := float64(r.result.Sessions)
	m.s.Units = int64(r.result.Sessions)
	m.s.Values["bytes"] = float64(first.Anonymous-base.Anonymous) / n
	m.s.Values["descriptors"] = float64(first.Descriptors-base.Descriptors) / n
	m.s.Values["bytes_again"] = float64(again.Anonymous-base.Anonymous) / n
	m.s.Values["descriptors_left"] = float64(left.Descriptors - base.Descriptors)
	m.s.Values["bytes_left"] = float64(left.Anonymous - base.Anonymous)
	return nil
}

// hold opens all sessions, reads what the balancer holds, and closes them.
func (r *runner) hold(ctx context.Context, i *balancer.Instance, addr string, t *load.Tally) (proc.Holdings, error) {
	sessions := load.OpenIdle(ctx, addr, r.result.Sessions, t)
	defer sessions.Close()
	if sessions.Len() < r.result.Sessions {
		return proc.Holdings{}, fmt.Errorf("only %d of %d idle sessions could be opened: %w", sessions.Len(), r.result.Sessions, t.Err())
	}
	return settled(ctx, i.Process)
}

// settled reads what a process holds once that no longer changes.
func settled(ctx context.Context, p *proc.Process) (proc.Holdings, error) {
	var last proc.Holdings
	end := time.Now().Add(settleWithin)
	for equal := 0; equal < settleEqual && time.Now().Before(end); {
		wait(ctx, settleEvery)
		if ctx.Err() != nil {
			return last, ctx.Err()
		}
		now, err := p.Holdings()
		if err != nil {
			return now, err
		}
		if equal++; now.Descriptors != last.Descriptors {
			equal = 0
		}
		last = now
	}
	return last, nil
}
