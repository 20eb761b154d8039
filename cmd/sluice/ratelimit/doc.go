// Package ratelimit bounds how many new connections a second one source may open.
//
// It neither waits nor counts what is open: a connection is let in or it is not, and
// limits on sessions are the data path's. It knows no service; each has a Limiter.
//
// # Design
//
// Each source has a token bucket of golang.org/x/time/rate: burst tokens, perSecond new
// ones a second, one for each connection let in. A source is an IPv4 address, or the /64
// of an IPv6 address, which is what one subscriber usually has. A client without an
// address (of a Unix socket) is always let in.
//
// Sources are remembered in a bounded table, cut into shards so that event loops rarely
// meet. There is no goroutine: every newcomer takes up to two idle sources (whose buckets
// are full again, so that nothing is lost with them) out of its shard. When all places of
// a shard are taken by sources that are not idle, the newcomer takes the place of the one
// that was seen longest ago among those that keep to their rate. One that is over its rate
// (the last answer was no) keeps its place until it is idle. If all of a shard are over
// their rate, the newcomer is let in and not remembered: a limit that shut out honest
// clients because of others would do the attacker's work.
//
// # What an attacker with many sources can do
//
// Let r be perSecond, b the burst, n maxSources (65,536 unless set).
//
//   - With s sources: b*s connections at once and r*s a second. No limit a source prevents
//     that; limits.connections bounds what is open.
//   - With more than n sources: have sources forgotten that keep to their rate, honest ones
//     and its own. A forgotten one has a full bucket again, so it may exceed its rate, by at
//     most b tokens each time. That takes some n connections of other sources that are let
//     in, each of which could as well have been one of the excess.
//   - Never: be forgotten itself while it is over its rate, have an honest source refused,
//     or have more memory used than n places (some 240 bytes each).
//   - With n sources that are all over their rate: have newcomers let in without a limit.
//     A place is held by b+1 connections in each b/r seconds, so that it takes more than
//     r*n connections a second, refused ones included, for as long as it is to last: 65,536
//     for r = 1, 655,360 for r = 10. A small maxSources makes that cheap.
//
// Which shard a source is in depends on a random seed, so that nobody can fill one alone.
package ratelimit
