// Package mysql probes MySQL, MariaDB and what speaks their protocol.
//
// With a user it logs in, asks for the role if one is wanted, and quits. The user needs no
// right at all:
//
//	CREATE USER probe IDENTIFIED BY 'SECRET'
//
// Without a user it reads the greeting and goes. That is all one can do without an account,
// and the server takes it for a handshake that was broken off: it counts Aborted_connects,
// may log a warning, and MySQL, like MariaDB, counts it against max_connect_errors, after
// which it lets in nobody from this address any more, clients behind sluice included,
// until FLUSH HOSTS or a login that succeeds. So do plain TCP checks. Give the probe a user;
// see Warning.
//
// It does not write, and follows no replication: it believes the server's read_only.
//
// # Design
//
// Logins are the driver's; its connection is the endpoint's, one a probe, without the pool
// of database/sql. The greeting is read here: the driver does not stop behind it.
package mysql
