// Package demo is a balancer to play with: three HTTP backends of its own on loopback,
// the balancer before them, a client that keeps asking, a switch to break the backends,
// and a display of who serves what. It needs no file and no other program.
//
// It is no benchmark: the client is gentle, and backends, balancer and client share one
// process. And it is no way to run anything: whoever may connect to loopback may press
// the switch.
//
// # Design
//
// Run owns everything and ends in the order of the flow: first who asks for things
// (client, chaos, switch), then the balancer, which drains, then the backends. The
// balancer is package app with a configuration that is parsed from the text the user
// sees, so that what is shown is what runs; it is told nothing of what happens to a
// backend and has to find out by itself.
//
// A kill is orderly, since what it shows is that nobody pays for a backend that is
// dead. What a dying one takes with it is lost with any TCP balancer: a connection that
// the kernel had completed and the backend had not accepted is reset when its listener
// closes, with no way to tell which ones those were. So a kill waits until the built-in
// client has no request under way (fleet.calm), closes the listener, lets requests of
// others that were accepted finish, and only then closes what is left. Requests that
// start in the instant after find the backend refusing, and those must all succeed.
//
// The display is a pure function from numbers to lines (render.go) and a writer that
// keeps these lines at the bottom while others pass above (screen.go). It asks the
// terminal for nothing, not even its size: lines are written with automatic wrapping
// off, and the terminal cuts them.
package demo
