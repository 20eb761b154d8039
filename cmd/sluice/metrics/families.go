package metrics

import (
	"runtime"
	"slices"

	"github.com/sluicelb/sluice/cmd/sluice/api"
)

// families returns all that sluice itself tells.
func families() []family {
	return slices.Concat(backendFamilies(), serviceFamilies(), processFamilies())
}

func backendFamilies() []family {
	return []family{
		counter("sluice_sessions_total", "Sessions that were connected to the backend.",
			eachBackend(func(b *backend) float64 { return float64(b.Total) })),
		gauge("sluice_sessions_active", "Sessions that the backend has now, dials included.",
			eachBackend(func(b *backend) float64 { return float64(b.Sessions) })),
		counter("sluice_bytes_total", "Payload bytes that were passed on, of live sessions too.", emitBytes),
		counter("sluice_dial_failures_total", "Dials to the backend that failed, by reason.", emitDialFailures),
		counter("sluice_retries_total", "Dials to the backend after, or beside, one to another.",
			eachBackend(func(b *backend) float64 { return float64(b.Retries) })),
		gauge("sluice_backend_up", "1 if the backend's health is up, it is not ejected and its admin state is ready, else 0.",
			eachStaying(func(b *backend) float64 { return truth(up(b)) })),
		gauge("sluice_backend_state", "1 for the state that the backend is in now; its other states have no series.", emitState),
		gauge("sluice_backend_usable", "1 if new sessions may go to the backend, else 0.",
			eachStaying(func(b *backend) float64 { return truth(b.Usable) })),
		gauge("sluice_backend_weight", "Weight of the backend, as it is set.",
			eachStaying(func(b *backend) float64 { return float64(b.Weight) })),
		histogram("sluice_connect_duration_seconds", "How long dials to the backend took that succeeded.",
			func(s *snapshot, out *samples) {
				for b := range s.backends {
					out.durations(b.connect, b.labels...)
				}
			}),
		histogram("sluice_probe_duration_seconds", "How long probes of the backend took, those that failed included.",
			func(s *snapshot, out *samples) {
				for b := range s.backends {
					out.durations(b.probe, b.labels...)
				}
			}),
	}
}

// up is narrower than usable: a backend without a check is unknown for ever, and one of
// unknown health may be used where there is none better.
func up(b *backend) bool {
	return b.Health == "up" && !b.Ejected && b.Admin == api.Ready
}

// emitState tells one series a backend and not one for each state: with thousands of backends
// the zeros would be most of a scrape.
func emitState(s *snapshot, out *samples) {
	for b := range s.backends {
		if !b.Leaving && b.State != "" {
			out.add(1, b.labels[0], b.labels[1], label("state", b.State))
		}
	}
}

func emitBytes(s *snapshot, out *samples) {
	toBackend, toClient := label("direction", "to_backend"), label("direction", "to_client")
	for b := range s.backends {
		out.add(float64(b.BytesToBackend), b.labels[0], toBackend, b.labels[1])
		out.add(float64(b.BytesToClient), b.labels[0], toClient, b.labels[1])
	}
}

func emitDialFailures(s *snapshot, out *samples) {
	for b := range s.backends {
		for _, reason := range sorted(b.DialFailures) {
			out.add(float64(b.DialFailures[reason]), b.labels[0], label("reason", reason), b.labels[1])
		}
	}
}

func serviceFamilies() []family {
	return []family{
		counter("sluice_refused_total", "Clients that were turned away, by reason.", emitRefused),
		counter("sluice_session_ends_total", "Clients that ended otherwise than turned away, by why.", emitEnds),
		gauge("sluice_held", "Clients that wait for a backend.",
			eachService(func(s *service) float64 { return float64(s.Held) })),
		gauge("sluice_paused", "1 while the service is paused, else 0.",
			eachService(func(s *service) float64 { return truth(s.Paused != nil) })),
		gauge("sluice_backends", "Backends of the service, without those that leave.",
			eachService(func(s *service) float64 { return float64(s.staying()) })),
		gauge("sluice_backends_usable", "Backends of the service that new sessions may go to.",
			eachService(func(s *service) float64 { return float64(s.Usable) })),
	}
}

// refusals returns the ends of clients that never had a backend; true are those that are
// told from the start, so that the first one is seen as a rise.
func refusals() map[string]bool {
	return map[string]bool{
		"no-backend": true, "connect-failed": true,
		"backends-full": false, "denied": false, "descriptors": false, "limit-connections": false, "limit-per-source": false,
		"limit-rate": false, "paused": false, "proxy-header": false, "proxy-timeout": false,
	}
}

func emitRefused(s *snapshot, out *samples) {
	reasons := refusals()
	for _, svc := range s.services {
		for _, why := range sorted(reasons) {
			if n := svc.Ended[why]; n > 0 || reasons[why] {
				out.add(float64(n), label("reason", why), svc.label)
			}
		}
	}
}

// emitEnds tells the rest. Sessions that end in order are told from the start.
func emitEnds(s *snapshot, out *samples) {
	reasons := refusals()
	for _, svc := range s.services {
		if svc.Ended["eof"] == 0 {
			out.add(0, svc.label, label("why", "eof"))
		}
		for _, why := range sorted(svc.Ended) {
			if _, refused := reasons[why]; !refused && svc.Ended[why] > 0 {
				out.add(float64(svc.Ended[why]), svc.label, label("why", why))
			}
		}
	}
}

func processFamilies() []family {
	return []family{
		gauge("sluice_build_info", "1, with the versions of sluice and of Go.", func(s *snapshot, out *samples) {
			out.add(1, label("goversion", runtime.Version()), label("version", s.status.Version))
		}),
		gauge("sluice_start_time_seconds", "When the process started, in Unix time.",
			process(func(s *snapshot) float64 { return unix(s.status.Started) })),
		gauge("sluice_ready", "1 if /readyz answers 200, else 0.",
			process(func(s *snapshot) float64 { return truth(s.status.Ready) })),
		gauge("sluice_draining", "1 while the process drains before it stops, else 0.",
			process(func(s *snapshot) float64 { return truth(s.status.Draining) })),
		gauge("sluice_revision", "Revision of what is configured; it grows with each change by a person, a file or the API.",
			process(func(s *snapshot) float64 { return float64(s.status.Revision) })),
		counter("sluice_config_reloads_total", "Reloads of the file, by result.", emitReloads),
		gauge("sluice_config_last_reload_timestamp_seconds", "When the file was last read, applied or refused, in Unix time.",
			process(lastReload)),
		gauge("sluice_config_last_reload_successful", "1 if the newest reload was applied, or there was none, else 0.",
			process(func(s *snapshot) float64 { return truth(s.status.Reload.Error == "") })),
		gauge("sluice_descriptors_limit", "Descriptors that the process may have open.",
			process(func(s *snapshot) float64 { return float64(s.status.Descriptors.Limit) })),
		gauge("sluice_sessions_limit", "Sessions that the descriptors are enough for.",
			process(func(s *snapshot) float64 { return float64(s.status.Descriptors.Sessions) })),
		counter("sluice_shed_total", "Clients that were closed for want of descriptors.",
			process(func(s *snapshot) float64 { return float64(s.status.Descriptors.Shed) })),
		counter("sluice_log_records_dropped_total", "Log records that were dropped, as their reader was too slow.",
			process(func(s *snapshot) float64 { return float64(s.status.LogDropped) })),
	}
}

func emitReloads(s *snapshot, out *samples) {
	out.add(float64(s.status.Reload.Count), label("result", "applied"))
	out.add(float64(s.status.Reload.Refused), label("result", "refused"))
}

// lastReload is the start until there is a reload: the file was read then.
func lastReload(s *snapshot) float64 {
	if t := s.status.Reload.Time; !t.IsZero() {
		return unix(t)
	}
	return unix(s.status.Started)
}
