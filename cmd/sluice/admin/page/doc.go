// Package page is the admin page: what is up, what is out and why, and the few changes an
// operator makes in a hurry.
//
// It does not know the balancer. It serves a handful of fixed files; their script reads
// and changes everything through /api/v1 (see package api), as any other client does, so
// whoever serves the page must serve the API under the same origin. Weights, adding,
// removing and killing are left to the commands, and records of failed sessions are too
// many for its timeline.
//
// # Design
//
// One document, one script, one style sheet, all written by hand, embedded, and loaded
// from nowhere else: the page must work on the day when nothing else does. The script is
// kept in a few files and served as one, in the order of the list in handler.go; they
// share one scope, that of a module. Addresses are relative, so that a proxy may put the
// page below a path.
//
// Backends choose part of what is shown (a reason may quote what a server sent), so no
// text ever becomes markup: the script only makes elements and text nodes, and the policy
// sent with each answer turns a slip into an error. It allows no inline script or style,
// no other origin, no frame, and no assignment of markup.
//
// The page token proves that a change comes from the page and not from another site that
// the operator has open. It is new with each process; a page that outlives its process
// fetches the new one when a change is refused with 403.
//
// Counters are asked for every two seconds, and at once after an event; events are
// streamed. Each element keeps what it shows, and only what differs is touched. Rows of a
// service that is folded are not made, and of a long service only the first fifty, so the
// work follows what can be seen and not the number of backends.
//
// A change is sent with the revision that was shown when its dialog was opened. If the
// server has a newer one, nothing is done, and the operator is told to look again.
package page
