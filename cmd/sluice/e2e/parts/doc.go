// Package parts starts and stops the real servers, scripted peers and sluice processes the end-to-end tests need.
//
// Every part listens on a free loopback port, keeps its files in a temporary folder, is ready when its constructor
// returns, and ends with the test: a process by its own process group, never by name. The log of a part is shown if
// the test failed. The package asserts nothing about sluice except that it ends cleanly and without a data race.
//
// # Design
//
// A constructor takes a testing.TB and fails the test itself, so that tests read as a list of expectations. Waiting
// is done with deadlines on sockets, by tickers, and by the log of the process, which is parsed while it is written.
// The PROXY protocol headers are built here by hand, so that they check the binary and not a shared library.
package parts
