// Package fault runs backends, each a process of its own, and breaks them in known
// ways: the process that serves (Serve), and what starts, breaks and mends a number of
// them (Fleet).
//
// It offers no load and knows no balancer.
//
// # Design
//
// A backend speaks package talk. It is told what to do on its standard input, a line a
// command, and answers a line each on its standard output, so that an injection is known
// to be in force at a known instant; it ends with its input. Signals do what signals do:
// SIGKILL, SIGTERM, SIGSTOP. Backend i listens on an address of its own, 127.0.1.i+1, all
// on the same port.
//
// A backend remembers which sessions reached it, and when, while it is broken: the only
// way to know that a client was sent to a dead one. Of one that was killed nobody knows.
package fault
