// Package leaktest fails a package's tests when goroutines or descriptors are
// left after the last one.
//
// It is for TestMain of every package that owns either; it is never imported by
// code that ships. On systems without /proc only goroutines are counted.
//
// # Design
//
// A leak is what is still there after a grace period, not what is there at once:
// a closed socket's goroutine needs a moment to return. Goroutines of the test
// binary itself and of the standard library's long-lived helpers are known by
// their stack and left out; descriptors are compared with those before the first
// test by what they point to, so that the poller's own (opened with the first
// socket, kept for the process's life) is not taken for a leak.
package leaktest
