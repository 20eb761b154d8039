// Package mysql probes MySQL, MariaDB and servers that speak their protocol: it logs in,
// wants an answer to COM_PING or, where a role is asked for, that role, and says COM_QUIT.
// Without a user it reads the greeting, which costs the server more than it tells us.
//
// # What it does not do
//
// It opens no database and reads no table, does not ask how far a replica is behind, and
// is no fencing: read_only is what an administrator or a failover tool has set, and two
// servers may both have it off.
//
// # What a probe user needs
//
// Nothing but the login; USAGE is no right at all:
//
//	CREATE USER probe@'10.0.0.%' IDENTIFIED BY 'secret';
//
// Its plugin may be mysql_native_password, caching_sha2_password, sha256_password (not
// with TLS) or ed25519. Those which want the password as it is (PAM, LDAP) are refused. Without TLS,
// caching_sha2_password encrypts the password with a key that the other side sends, so
// whoever can answer for the server can have it: it should open nothing.
//
// # What a probe without a user does to the server
//
// The protocol has no goodbye before the login: MariaDB 10.11 treats an end of stream, a
// reset, COM_QUIT and junk alike. Each probe
//
//   - counts in Aborted_connects (in MariaDB in Aborted_connects_preauth too),
//   - writes a warning into MariaDB's log ("This connection closed normally without
//     authentication") with log_warnings from 2, the default; MySQL 8 has a note for it,
//     which log_error_verbosity shows from 3,
//   - counts as a handshake error of this host (COUNT_HANDSHAKE_ERRORS in MySQL's
//     performance_schema.host_cache). After max_connect_errors of them, by default 100, the
//     server blocks the host: 1129 for every client that comes through this balancer. A
//     client that logs in sets the count back to 0, so it happens in a quiet night.
//
// A server counts no handshake errors of 127.0.0.1, ::1 and Unix sockets, and none at all
// with skip_name_resolve or host_cache_size=0. [Warning] says it at the start.
//
// And it sees less. With max_connections used up the server still greets whoever comes, as
// it keeps one connection for administrators and learns only from the login who it is.
//
// A probe with a user does none of this, and its login sets the count back. A wrong
// password counts in Aborted_connects and is logged, but blocks nobody. A login that is
// given up half-way does count: when the deadline passes after the greeting, when the
// certificate is not trusted, and when the server has no TLS.
//
// A frozen server counts, once it goes on, all handshakes that were given up meanwhile. So a
// probe whose time is over before the greeting keeps its connection, one at most, and the
// next one waits on that instead of another: it logs in, and nothing is counted. A connection
// that ends, or says anything but what is wanted, is replaced within the same probe, and
// after 5 minutes it is given up in any case. Close ends it.
//
// # Design
//
// A probe is one [health.Converse], which keeps the one deadline over every read and write,
// and ends the stream in order, over a connection of its own or the one that was kept. The greeting is read and judged here, with
// and without a user. Then the go-sql-driver logs in over a wire, which stands between it
// and the connection and hands it one whole packet at a time. The driver
// trusts the lengths within packets, and takes junk for a reason to panic: during the
// login, where that would also leave a goroutine of its own behind, the wire lets no
// malformed packet through; later a panic is caught and is a malformed answer.
//
// TLS begins after the greeting. The wire does it and not the driver, since packets could
// not be checked below the driver's TLS. The driver is told that it speaks through a Unix
// socket, which is to it what TLS is: a way where a password may travel as it is.
package mysql
