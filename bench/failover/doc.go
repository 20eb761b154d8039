// Package failover measures what the clients of a balancer notice when a backend fails
// in one of many ways, and when it comes back.
//
// It prints and reads nothing; command l4bench does. It needs Linux.
//
// # Design
//
// A run is one balancer and one fault: backends and balancer are started fresh, load is
// offered for a given time, and on the way backends are broken and mended by a plan of
// outages. Runs of one fault stand side by side: each balancer in turn, in another order
// each round. A result is the median over the rounds.
//
// Three loads run at once, all at fixed instants, whatever came of the earlier ones
// (no coordinated omission):
//
//	visits   new clients at a fixed rate: connect, one message, close; counted from the
//	         instant at which each was due, through the service "any" (round robin)
//	talks    long sessions through the same service, a message each 50 ms, answered or not;
//	         one that ends is followed by another
//	hashed   clients with addresses of their own, each again and again, through the service
//	         "hash" (by source address)
//
// What they saw (load.Visit, load.Talk) and when backends were broken (Outage) is all
// that is known; every figure is computed from that by pure functions (figures.go),
// which know no balancer. So the same functions measure a fake balancer with known faults.
//
// A result is shown as tables and as a page (view.go, page.go, timeline.go), and compared
// with an earlier one (change.go), which is read from its JSON report (read.go). What is
// timed and did not happen is infinite in a Summary, so that never is later than anything
// that came.
//
// Configurations are as equal as the programs allow (package balancer); what one cannot
// express is said beside its name.
package failover
