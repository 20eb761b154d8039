// Package app makes a running balancer of a configuration: services, their pools and
// monitors, listeners, and the order in which they start and stop.
//
// It parses nothing and handles no signals; package main does.
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
package app
