// Package bench holds what measures balancers: the packages below it. Command
// l4bench is its command line.
//
// It is not part of the balancer, and knows none from inside: sluice, haproxy and
// nginx are programs with a configuration file, and their costs are read from the
// system. It offers load to loopback only.
//
// # Design
//
//	proc      child processes: start, stop, and what they use
//	balancer  programs to measure: find, configure, start
//	backend   servers behind them: redis, nginx, and the embedded stream server
//	stream    that server's protocol, both ends: bulk data and echo, checked
//	load      clients: closed loop, open loop, bulk, idle; histograms, errors by kind
//	report    tables, charts and pages, whatever they are about
//	compare   balancers side by side, with equal configurations, in rounds: what they cost
//	talk      a protocol of numbered messages, whose servers say who they are
//	fault     backends that are broken in known ways, and mended
//	failover  balancers side by side: what clients notice when a backend fails
//
// proc, stream, talk and report know none of the others; load uses stream and talk; backend
// and balancer use proc; fault uses proc and talk; compare and failover use what they need of
// these, and not each other.
package bench
