// Package admin serves the admin interface over HTTP: /api/v1 of package api, /metrics,
// /healthz, /readyz, and the page.
//
// It decides nothing about services and backends: it understands a request, asks
// api.Control, and writes down the answer. It draws no page and collects no metric; both are
// handlers that it is given. docs/api.md is the reference of what it serves.
//
// # Design
//
// A table of endpoints is all of /api/v1: method, path, parameters, kind of body, and a
// function from a request to a value. What surrounds them is written once, and in this order:
// a room bounds the connections; the outer handler sets deadlines, headers and a net for
// panics; the host and the path are checked; the guards check token and origin; the
// endpoint's parameters, If-Match and body are read, strictly; the value or the error becomes
// JSON. Guards are tied to routes and not to prefixes of a path, so that no spelling of a
// path comes past them.
//
// # Who is kept out
//
// An address that others can reach is refused by Guards.Check, and once more by Serve, unless
// a token or client certificates guard it. Without them, the danger is the operator's own
// browser. A page elsewhere may send it here: Sec-Fetch-Site and Origin tell. Its name may be
// made to point here (DNS rebinding): the Host header tells. And a change from a browser has to show
// what only our own page knows.
//
// The process's descriptors are for its sessions: the room holds a fixed number of
// connections and one that waits to come in. A client that says nothing has to give way to one
// that comes, and every stage of a request has its deadline. A stream of events is the only
// answer without an end; there are few, and one that is not read is closed.
package admin
