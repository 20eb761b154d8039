// Package api is what the admin server and its clients (the commands, the page) say to
// each other: the JSON of /api/v1, and nothing that acts.
//
// # Design
//
// One set of types for both ends, so that neither can drift. Times are RFC 3339, durations
// Go's ("1.5s"). Fields that a client does not know are to be skipped by it; ones that the
// server does not know are refused by it. CONTRACT's names are kept: Service and Backend.
//
// Every answer has a Revision in its ETag: it grows with each change that a person, a file
// or the API makes (not with what probes find). A change sent with If-Match of an older
// one is refused, so that two operators do not overwrite each other.
package api
