// Package l4 is the data path of a layer-4 TCP load balancer: a Service accepts
// connections, admits them, picks a Backend from its Pool, connects, and has an
// engine of package relay move the bytes until both ends are done.
//
// It probes nothing and parses no configuration: health verdicts come in through
// the Pool, dial outcomes go out through an Observer.
//
// # Design
//
// A Session is a record: the counters and what leads to the two sockets (relay.Session),
// who the client is, which backend it got, how many were tried, and how it ended.
// Its life is one flow, a function a step: begin → (PROXY header in) → admit →
// connect → (PROXY header out) → relay → finish. begin and finish are where
// everything a session holds is taken and given back, and nowhere else. Ends come
// from one closed list, relay.Why, for log and counters alike.
//
// A Backend is identity and atomics. Its state is two words that never mix: what
// probes and dials say (Health, ejected), and what people say (Admin).
//
// A configuration in force is settings, behind one atomic pointer: a session keeps those it
// began with. Members change by Pool.Edit, all or nothing and in one step. A backend that was
// removed is leaving as long as it has sessions; one that is added again with the same name
// and address is the same. It is barred from then on, so a dial under way goes elsewhere; that
// is also what a drain does.
//
// Who wants to know of sessions walks along their list in steps, with a mark in it (a record
// without a service) that keeps the place while the mutex is let go of. The order of the
// mutexes is Service.counting, Service.mu, Pool.mu, Session.mu, waitingRoom.mu; listener.mu is
// held with none of them while an engine is waited for.
//
// A Pool has one writer path: every change, under one mutex, makes a new immutable
// view (tiers of backends, each with the picker over exactly those) and stores it in
// one atomic pointer; of many backends a goroutine makes it, for several changes. A
// session loads the pointer and picks; it takes no lock and asks no policy about
// health. Tiers go by priority, then up before unknown, and those that are ejected
// come last: a tier is used for a client when all of the former are full or have
// failed this very client. The pool also holds the rule that the last usable backend
// is never ejected, since only it sees all of them at one instant; and that of the one
// writer, where probes ask for one: among those that are up it elects one, a pure function
// of who claims the place and who had it, and no view ever has another. A view is chosen
// from for a moment after the next one is made, so such a pool also bars backends: a
// session looks whether its backend is barred after it has said that it has it, and
// whoever closes a barred backend's sessions looks for them after barring it, so one of
// the two sees the other.
//
// A limit on connections (a service's, a backend's, a source's) is a reservation,
// taken before the work and given back at the end, so it is exact under any race.
//
// Two things drive the steps. With an engine that is a relay.Front they are taken on
// its loops: it accepts, asks the session (relay.Opener, in front.go) for the next step,
// connects, and says how that went. What has to wait, for a PROXY header, a name or a backend,
// whose backend is silent for longer than hedge_after (it takes the dial along), or whose
// first words are kept, takes its steps in a goroutine (Session.run) and comes back for the
// relay; with other engines all sessions do. The steps themselves (begin, admit, choose, connected,
// dialFailed, finish) know of neither, and none of them waits.
//
// Nothing is dialled or read where clients are accepted. Out of descriptors, new clients
// are closed with the help of one descriptor held in reserve: accepting neither spins
// nor stops.
//
// Clients for whom no backend is to be had stand in one line (waitingRoom). Who looks for a
// backend in vain and then joins the line cannot miss what happens in between: he joins
// with the number of events he had seen, and is let through if there have been more. It is
// always the first whose turn it is. He who has found a backend in his turn calls the next,
// so that one freed slot wakes one client, and a backend that comes up wakes all of them one
// after the other. The pool does not know when a backend that only refuses dials takes them
// again: there the first in line tries for all, and each connect that succeeds calls two.
//
// A first flight (flight) lasts from a session's connect to its backend's first byte, if
// words are to be kept. Whatever ends the backend's side in that time leads to another
// backend, but for an end in order after the client's own, which is an answer of no bytes.
//
// A backend that refuses, is silent or resets while being dialled costs the client a
// retry on one not yet tried; as long as no payload has been sent that is always
// safe. Failures of this machine (no descriptor, no port left) are not held against
// the backend.
package l4
