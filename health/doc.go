// Package health watches backends and says what it saw: active probes on a clock of
// their own for every backend, and passive evidence from the dials and sessions that
// the data path makes anyway. Its verdicts go to a [Gate], one for each backend.
//
// # What it does not do
//
// It picks nothing, dials for no client, closes no session, logs nothing and keeps no
// history: a Gate gets every transition with its [Cause] and does all that. It knows no
// pool, so "the last usable backend" is the Gate's to judge ([Gate.Eject] may refuse).
// Administrative states (drain, maint) are not health and not seen here. A probe proves
// what it asks and no more: [TCP] passes for a frozen process, since the kernel accepts
// for it, and a check on a side port proves the side port.
//
// # Design
//
// Two independent judgements about one backend, made under one lock of its [Member]:
//
//   - Active: results of a [Prober] run through a pure value, streak, which holds the
//     rise/fall rule and nothing else. Only transitions reach the Gate.
//   - Passive: consecutive failed dials eject a backend for a time that doubles while it
//     keeps failing. Ejection is a guess from little evidence, so it ends by itself: by
//     time, unless probes fail too (the backend is then on trial), or earlier by passed
//     probes.
//
// A backend may be down for one reason first and for another later, and it matters which: a
// [Failure] that is unsure (the probe's password is wrong, or there is no resolver) is no
// ground to end sessions, as a port where nothing listens is. So a second pure value, blame,
// has the Gate told again when the reason has changed and settled. Reasons are compared by
// their words without the numbers, which vary by themselves.
//
// Each member with a prober has one goroutine that probes inline: two probes in flight are
// impossible by construction, not by a flag, even if a prober ignores its context. The
// time of an ejection is a timer of the member, because it must end on time also while a
// probe is waiting for its deadline. Every member keeps its own clock with a random phase
// and jitter, so that a hundred backends are not probed in one burst, and several
// balancers with the same file do not fall into step.
//
// The hot path (a dial succeeded, a backend answered) is one atomic load while nothing is
// wrong: the member publishes "there is something to reset" as a flag.
//
// A TCP probe of an address that is one goes by its own socket (direct), which on loopback and
// nearby is connected by the time it is asked for the second time: no poller, no goroutine to
// be woken. It takes 35 to 40 µs of processor time for everything, of which some 30 are the
// system's for the socket and the handshake; through package net it is 110. Waits end on a
// beat that all members share, within their jitter, so that a process with thousands of
// backends is woken fifty times a second and not once for each timer. The goodbye goes on
// when the probe has returned, and is cut short by the next: a backend that never ends
// costs one socket.
//
// The probers here need nothing but the standard library. Those which need a driver to log
// in live in health/probe/<protocol> and connect through [Endpoint.Dial].
package health
