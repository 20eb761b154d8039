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
// The conversation is the endpoint's, and so are its deadline and its goodbye. The
// SSLRequest and TLS are ours, logins are the driver's (pgconn): SCRAM, MD5, channel
// binding. The driver never learns of the probe's deadline and cannot close the connection.
// It also reads only whole messages that it can read, or nothing more: on an answer it does
// not understand it would go on in a goroutine of its own, dial again to cancel its query,
// and wait for the server longer than the probe may. A message that asks for more rounds of
// SCRAM than a deadline can allow is not passed on either, since nothing would end them.
//
// What a server says is told without the password, see [health.Hush].
//
// A server that offers TLS gets its handshake also from a probe that does not insist on it:
// one that breaks off is logged as an error.
package postgres
