// Package e2e tests the sluice binary from the outside, with real servers around it.
//
// The tests know only what users know: the commands, the file, the log and the bytes. They start Redis, PostgreSQL,
// nginx and HAProxy on free loopback ports, put a sluice built with the race detector between them and real clients,
// operate it by its commands, its API, its file and its signals, and break one part at a time. Numbers like C47 above
// a test name the failure case from the field it repeats.
//
// # Design
//
// Everything that starts, stops, waits or reads /proc lives in the package parts; here stands only what is expected.
// A test is serial if it measures load, latency or a counter of the whole machine, and parallel otherwise.
// An attack on the process runs beside a witness, whose small requests must be answered meanwhile, on both relay
// engines and in a network namespace of its own.
// The flags -churn and -soak make the longest two of the load tests longer, -seed repeats the faults of a soak.
// A server that is not installed is a failure that names its package, never a skip.
package e2e
