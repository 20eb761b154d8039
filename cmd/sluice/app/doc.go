// Package app makes a running balancer of a configuration: services, their pools and
// monitors, listeners, the order in which they start and stop, and how they change while
// sessions go on. It answers the admin API (api.Control).
//
// It parses nothing and handles no signals; package main does. How sessions are served is
// l4's, whether a backend works is health's.
//
// # Design
//
// This is the only room that knows both l4 and health. A gate carries a monitor's
// verdicts to the pool, and a health.Member hears as l4.Observer what sessions learn
// of their backend; neither package imports the other.
//
// Start binds every listener before anything is served or probed, so that a port
// that is taken costs nothing but an error. Drain closes the listeners, lets sessions
// end, and stops the monitors last, since dials that are under way report to them.
//
// Changes are made one at a time, by whoever has filled App.changing: New until Start has
// ended, then each change of a person or a file, at last Drain for good. What others look at
// is guarded by App.state besides, which is held only for the moment of a change. The locks
// are taken in this order: changing, state, a pool's, those of events and history. A pool
// tells of transitions with its lock held, so that nothing that hears of one may look at the
// App.
//
// A reload has two halves. All that can fail is done first: reading the file and its
// secrets, making probers and services, opening listeners. What was made is given up if
// something does fail, and the process is as it was. Then nothing can fail any more: the
// second half changes services one after another, each pool in one step.
//
// A listener whose address another service, or another place of the file, has had until now
// is one on the same socket, so that no client is refused. Only a port that changes to
// another host has to be closed before it can be opened.
//
// What a reload removes is not gone at once: a service goes on without listeners until its
// sessions have ended or their time is over, in App.leaving, and Drain waits for it.
//
// The configuration in force is the file with what people have changed since, and with the
// keys of the start for what a reload cannot change. So the next plan tells all that it
// would undo, and what still waits for a start.
package app
