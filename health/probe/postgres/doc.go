// Package postgres probes PostgreSQL and what speaks its protocol.
//
// Without a user it sends an SSLRequest and wants the one byte of its answer. That proves
// that a postmaster answers, and leaves no line in its log, but neither that it lets
// anybody in nor that it has started: those answers come after a startup packet only. With
// a user it logs in, asks for the role if one is wanted, and says goodbye. The user needs no
// right but to connect:
//
//	CREATE ROLE probe LOGIN PASSWORD 'SECRET'
//
// It does not write, and nothing of the process's environment (PGHOST, PGPASSFILE, service
// files) has a say in where and how it logs in.
//
// # Design
//
// Logins are the driver's (pgconn): SCRAM, MD5, TLS. Its connection is the endpoint's, one a
// probe; a second dial, by which the driver would cancel a query that takes too long, is
// refused, so nothing is left when a probe has returned. A server that offers TLS gets its
// handshake also from a probe without a user: one that breaks off is logged as an error.
package postgres
