// Package load offers load over TCP and counts what came of it: clients in a closed
// loop, at a fixed rate, with bulk data, or idle; new clients at a fixed rate, and long
// sessions, of which each is told by itself.
//
// It does not know what it loads, a balancer or a backend, and starts nothing.
//
// # Design
//
// Each load is a plain struct with a Run method that returns when its context ends and
// every client has finished what it was doing: a load never cuts an exchange, so what
// is counted as a failure is one. Every answer is checked; a failure is counted by its
// kind, from a closed list, and the client goes on with a new connection after a
// short pause.
//
// A client is a goroutine with a blocking socket. Counts can be read while a load
// runs, so whoever measures takes a piece out of the middle of it.
//
// Open measures from the instant at which a request was due, not from the one at which
// it was sent: requests that a stall holds up are late by what they waited (no
// coordinated omission). Its requests are sent by one goroutine, whether or not the
// earlier ones were answered; answers are read by one a connection.
//
// So do Arrivals and Talkers, whose clients come when they are due, and speak when they
// are due: how late the load itself was with one is told beside it, and nobody is left out.
// Arrivals is for clients of any protocol; Talkers speaks that of package talk.
//
// Clients that connect for each exchange close first and therefore hold a port in
// TIME_WAIT for a minute. Each has an address of its own in 127.0.0.0/8, so that ports
// do not run out.
package load
