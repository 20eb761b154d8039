package app

import (
	"context"
	"sync"
	"time"
)

// reportEvery is how often a drain says what is left.
const reportEvery = 5 * time.Second

// NotReady has Ready say no from now on: the outside is to send no more clients. Changes are
// refused.
func (a *App) NotReady() {
	a.notReady.Do(func() {
		a.draining.Store(true)
		close(a.ending)
	})
}

// Drain stops accepting, waits for the sessions to end, resets those that are left
// when ctx is done, and returns how many those were. It is to be called after Start; a second
// call does nothing. While it waits it calls progress, if there is one, from time to time.
func (a *App) Drain(ctx context.Context, progress func(sessions int64)) (forced int) {
	a.NotReady()
	select {
	case a.changing <- struct{}{}: // for good: nothing changes any more
	case <-a.stop:
		return 0 // that is under way, or over
	case <-time.After(changePatience): // it hangs, and will find that it is too late
	}
	a.log.Info("draining", "sessions", a.sessions(), "timeout", a.file.ShutdownTimeout.String())
	defer context.AfterFunc(ctx, a.hurry)()
	var mu sync.Mutex
	var services sync.WaitGroup
	for _, s := range a.services {
		services.Go(func() {
			n := s.l4.Shutdown(ctx)
			mu.Lock()
			defer mu.Unlock()
			forced += n
		})
	}
	services.Go(a.parting.Wait)
	a.end()
	a.report(&services, progress)
	a.serving.Wait()
	a.lived(stopped, "it was told to, and ended in order")
	a.giveUp()
	return forced + int(a.cut.Load())
}

// giveUp ends what is left when nobody is served any more.
func (a *App) giveUp() {
	a.hurry()
	a.engine.Close()
	for _, s := range a.services {
		s.monitor.Close()
	}
	a.history.Close()
}

// end tells those who wait for something that nothing more comes.
func (a *App) end() { a.once.Do(func() { close(a.stop) }) }

// Discard gives up an App that was not started. To drain it does nothing then.
func (a *App) Discard() {
	a.NotReady()
	a.end()
	for _, s := range a.services {
		s.unbind()
		s.l4.Close()
	}
	a.giveUp()
}

// report says from time to time what is left, until all services have drained.
func (a *App) report(services *sync.WaitGroup, progress func(int64)) {
	drained := make(chan struct{})
	go func() {
		services.Wait()
		close(drained)
	}()
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-drained:
			return
		case <-tick.C:
			n := a.sessions()
			a.log.Info("draining", "sessions", n)
			if progress != nil {
				progress(n)
			}
		}
	}
}

// sessions counts them, those of services that leave included.
func (a *App) sessions() (n int64) {
	for _, s := range a.all() {
		n += s.l4.Stats().Active
	}
	return n
}
