// Package redis probes Redis, Valkey and what speaks like them: PING, after AUTH if there
// is a password, and the role by ROLE if one is asked for.
//
// It does not read or write keys, select a database, or ask a sentinel or a cluster who is
// the master: a probe asks the backend itself. A password needs no more rights than
//
//	ACL SETUSER probe on >SECRET +ping +role
//
// # Design
//
// One connection a probe, and the exact words of a probe: this is the inline part of RESP2,
// three commands and five kinds of replies, so it is written here. The common driver is made
// for pools: it dials again by itself, negotiates, names itself, and works in the
// background, all of which a probe promises not to do. Replies are read from a bounded
// connection, nested ones to a bounded depth, and nothing is made room for that has not
// come. The end of stream is goodbye enough: Redis logs nothing of it, and a QUIT would be a
// right more.
//
// An error reply is never a pass: its code is named, with what an operator may do. Replies
// are told without the password, which some servers repeat ([health.Hush]).
package redis
