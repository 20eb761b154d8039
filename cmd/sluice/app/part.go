package app

import (
	"context"
	"slices"
)

// part ends a service that is not in the file any more: its sessions have its drain_timeout.
func (r *reload) part(s *service) {
	s.unbind()
	a := r.App
	a.log.Info("draining", "service", s.name, "sessions", s.l4.Stats().Active, "timeout", s.cfg.DrainTimeout.String())
	a.parting.Go(func() {
		ctx, cancel := context.WithCancel(a.life)
		defer cancel()
		if s.cfg.DrainTimeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, s.cfg.DrainTimeout)
			defer cancel()
		}
		forced := s.l4.Shutdown(ctx)
		s.monitor.Close()
		for _, m := range s.members {
			a.metrics.Forget(s.name, m.cfg.Name)
		}
		a.write(func() {
			a.leaving = slices.DeleteFunc(slices.Clone(a.leaving), func(o *service) bool { return o == s })
		})
		a.log.Info("drained", "service", s.name, "forced", forced)
	})
}
