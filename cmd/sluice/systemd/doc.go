// Package systemd speaks with the service manager that started the process: it tells it how the service is, and takes
// the sockets that it passed.
//
// It decides nothing: when the service is ready, healthy or stopping, and which service a socket belongs to, is for the
// caller to say. It does not open sockets, and knows no D-Bus.
//
// # Design
//
// Everything is optional. Without NOTIFY_SOCKET a Notifier does nothing, without LISTEN_FDS there are no sockets, and a
// manager that cannot be reached is a line in the log: the balancer serves its clients without one as well.
//
// A Notifier has no state but the address, and each message is one datagram with a deadline, so that a manager that hangs
// holds nobody up for longer than that.
//
// Sockets keeps the descriptors it was passed, and hands out duplicates. A service that leaves the configuration closes its
// own, one that comes back gets another, and the queue of clients in the kernel outlives both.
package systemd
