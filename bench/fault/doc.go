// Package fault runs backends, each a process of its own, and breaks them in known
// ways: the process that serves (Serve), and what starts, breaks and mends a number of
// them (Fleet).
//
// It offers no load and knows no balancer. It needs Linux.
//
// # Design
//
// A backend speaks package talk. It is told what to do on its standard input, a line a
// command, and answers a line each on its standard output, so that an injection is known
// to be in force at a known instant; it ends with its input. Signals do what signals do:
// SIGKILL, SIGTERM, SIGSTOP. Backend i listens on an address of its own, 127.0.1.i+1, all
// on the same port.
//
// Packets are made to vanish by a socket filter that accepts none (SO_ATTACH_FILTER with
// one instruction of classic BPF), on the listener for a black hole, and on every session
// too for a half-open one. It needs no right and no namespace, holds from one instant to
// another, and catches nobody half-way. The alternatives are worse: a listener whose
// backlog is full accepts one client more, which then waits for ever; a blackhole route
// needs a namespace, and on one host tells who connects at once (EINVAL), instead of
// nothing. A backend that hears nothing has nothing to say: it sends no keep-alives, and
// what it repeats, because the acknowledgement has vanished, tells the other end nothing.
//
// Times are told by CLOCK_MONOTONIC, which all processes share and nobody sets.
//
// A backend remembers which sessions reached it, and when, while it is broken: the only
// way to know that a client was sent to a dead one. Of one that was killed nobody knows.
package fault
