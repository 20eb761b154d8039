package app

import (
	"context"
	"slices"
)

// part ends a service that is not in the file any more: its sessions have its drain_timeout,
// or until the App's own drain is over.
func (a *App) part(s *service) {
	shut := s.listening
	a.write(func() { s.listening = nil })
	for _, l := range shut {
		l.close()
		<-l.done
	}
	within := s.cfg.DrainTimeout
	a.log.Info("draining", "service", s.name, "sessions", s.l4.Stats().Active, "timeout", within.String())
	a.parting.Go(func() {
		ctx, cancel := a.patient, context.CancelFunc(func() {})
		if within > 0 {
			ctx, cancel = context.WithTimeout(ctx, within)
		}
		defer cancel()
		forced := s.l4.Shutdown(ctx)
		if a.patient.Err() != nil {
			a.cut.Add(int64(forced))
		}
		s.monitor.Close()
		a.forget(s)
		a.write(func() {
			a.leaving = slices.DeleteFunc(slices.Clone(a.leaving), func(o *service) bool { return o == s })
		})
		a.log.Info("drained", "service", s.name, "forced", forced)
	})
}

// forget drops the metrics of a service's backends.
func (a *App) forget(s *service) {
	for _, m := range s.members {
		a.metrics.Forget(s.name, m.cfg.Name)
	}
}
