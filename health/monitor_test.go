package health

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// takes returns a prober that passes after d.
func takes(d time.Duration) Prober {
	return proberFunc(func(context.Context) error {
		<-time.After(d)
		return nil
	})
}

func TestSettledWaitsForTheFirstProbeOfEveryMemberAddedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Timeout = time.Minute
		m := newMonitor(t, cfg)
		if !isClosed(m.Settled()) {
			t.Error("without members it is not settled")
		}
		m.Add(nil, newGate())
		if !isClosed(m.Settled()) {
			t.Error("a member without a prober is not settled")
		}
		g := newGate()
		m.Add(takes(time.Second), newGate())
		m.Add(takes(3*time.Second), g)
		early := m.Settled()
		m.Add(takes(10*time.Second), newGate())
		late := m.Settled()

		pass(3*time.Second - 1)
		if isClosed(early) {
			t.Error("settled before the slower first probe has ended")
		}
		<-early
		if took := time.Since(g.born); took != 3*time.Second || len(g.told()) != 1 {
			t.Errorf("settled after %v with %q told, want 3s and the gate told", took, g.told())
		}
		if isClosed(late) {
			t.Error("settled before the member added last")
		}
		<-late
		if took := time.Since(g.born); took != 10*time.Second {
			t.Errorf("settled after %v, want 10s", took)
		}
		if !isClosed(m.Settled()) {
			t.Error("not settled any more")
		}
	})
}

func TestSettledCountsAFailedFirstProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, config())
		m.Add(proberFunc(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), newGate())
		begin := time.Now()
		<-m.Settled()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("settled after %v, want the timeout of 1s", took)
		}
	})
}

func TestSettledDoesNotWaitForAStoppedMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Timeout = time.Hour
		m := newMonitor(t, cfg)
		b := m.Add(proberFunc(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), newGate())
		settled := m.Settled()
		synctest.Wait()
		if isClosed(settled) {
			t.Fatal("settled with the first probe in flight")
		}
		b.Stop()
		<-settled
	})
}

func TestCloseStopsAllAtOnceAndLeavesNothing(t *testing.T) {
	// The bubble itself fails if a goroutine is left at its end.
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, config())
		slow := proberFunc(func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second)
			return ctx.Err()
		})
		gates := make([]*fakeGate, 50)
		for i := range gates {
			gates[i] = newGate()
			m.Add(slow, gates[i]).DialFailed(time.Now(), "connection refused")
		}
		synctest.Wait()
		begin := time.Now()
		var closing sync.WaitGroup
		for range 3 {
			closing.Go(func() {
				m.Close()
				if took := time.Since(begin); took != time.Second {
					t.Errorf("Close returned after %v, want 1s, the slowest probe", took)
				}
			})
		}
		closing.Wait()
		m.Close()
		if len(m.members) != 0 {
			t.Errorf("%d members kept", len(m.members))
		}
		pass(time.Hour)
		for _, g := range gates {
			g.expect(t, "0s eject: connection refused (1 failed in a row), ejected for 5s")
		}
	})
}

func TestMemberAddedAfterCloseComesStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, config())
		m.Close()
		g := newGate()
		p := &script{result: func(int) error { return nil }}
		b := m.Add(p, g)
		b.DialFailed(time.Now(), "connection refused")
		pass(time.Hour)
		b.Stop()
		g.expect(t)
		if len(p.began()) != 0 || !isClosed(m.Settled()) {
			t.Errorf("%d probes, settled %v", len(p.began()), isClosed(m.Settled()))
		}
	})
}

func TestRemovedMemberIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonitor(t, config())
		keep := m.Add(nil, newGate())
		for range 100 {
			m.Add(takes(0), newGate()).Stop()
			m.Add(nil, newGate()).Stop()
		}
		if _, ok := m.members[keep]; len(m.members) != 1 || !ok {
			t.Errorf("%d members kept, want one", len(m.members))
		}
	})
}
