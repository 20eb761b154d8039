// Package metrics gives Prometheus what sluice counts, and the API the quantiles of the
// newest connects.
//
// It counts nothing itself but durations, and keeps no history: counters live in the data
// path, and rates, alerts and retention are Prometheus's. No label ever holds a client's
// address, so that no client can make series. docs/metrics.md explains every name, and a
// test holds it to what is here.
//
// # Design
//
// A scrape asks for the services and for the status once each, so that its values belong
// together, and builds the families by itself: they are consistent, in order and without
// duplicates by construction, and to have a registry find that out would double the CPU
// time (7 ms for 1,000 backends, 14 by a registry). Two backends with one name in one
// service (one is leaving, the other took its place) become one series: counters and
// sessions add up, and the one that stays gives the state. Only the collectors for Go and
// the process are in a registry.
//
// A duration is counted by one atomic add to one cell, and one to the sum. Cells are cut
// at the bounds of both the classic and the native (exponential) buckets, so that the two
// are sums of the same cells and always agree. The cells are fixed, which bounds a native
// histogram without resets and without loss of resolution, and lets the event loops count
// without a lock and without memory.
//
// Durations come through handles that a backend keeps for life. A removed backend gives up
// its own with Forget; series of backends that are no longer listed are not shown even
// before that.
package metrics
