// Package balancer knows the programs that are measured: how each is found, asked for
// its version, configured, started and stopped.
//
// It measures nothing and starts no backend. What it writes is meant to be equal for
// all, not to be the best of each.
//
// # Design
//
// A Kind is one row in a table of functions: text of the configuration, arguments. All
// else is the same for every kind: one process for all services of a run, ports that
// are found free and given up if somebody else takes one, readiness by connecting,
// SIGTERM to stop.
//
// What equal means: two threads or workers, round robin over the same backends, a
// backlog that does not overflow, no log of sessions, no checks, no keepalive, no
// timeout that could fire, connect timeout 5 s. nginx has no half-close unless told
// (proxy_half_close) and is left so, as all use it. haproxy has splice-auto; sluice
// decides by itself.
package balancer
