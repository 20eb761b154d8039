// Package ctl is the commands that talk to a running sluice: status, drain, sessions and
// so on. It asks the admin API for things and prints what it says.
//
// It decides nothing about balancing, reads no configuration by itself (Env does that for
// it) and ends no process: an error goes back to main, which makes an exit status of it.
//
// # Design
//
// Three layers, each in files of its own:
//
//   - client.go, target.go, fail.go and stream.go are the way to the server: where it is and
//     how that is known, requests with a bound on their time, and errors in words for somebody
//     who was just woken up.
//   - text.go, table.go and printer.go are the way to the reader. What the server says may come
//     from a backend that is hostile, so nothing reaches a terminal but through a printer, and a
//     printer makes everything that is not printable visible.
//   - the other files are the commands, one topic a file. Each asks, changes, prints.
//
// "How long ago" is counted by the server's clock (its start plus its uptime), so that it is
// right from a machine whose clock is wrong.
package ctl
