// Package talk is a protocol of numbered messages over TCP, by which a client learns
// which backend it speaks with, and either end notices a message that is lost, doubled,
// swapped or changed: both ends of it.
//
// It offers no load by itself and knows no faults.
//
// # Design
//
// A message has 64 bytes: a magic number, the session's number, the message's number in
// its session (from 0), who answers (0 in a request, else the backend's index and one), a
// filling without period, and a CRC-32C over all before. An answer repeats the request's
// session and number. A server expects numbers in order and ends a session that breaks it
// with a reset, after it has counted it; a client does the same with answers.
//
// A server that ends its sessions says so with half of a close, and reads on for a moment:
// closing a connection on which something is unread would reset it.
package talk
