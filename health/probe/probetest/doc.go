// Package probetest has the backends that probers are tried on which no real server will
// be: those that answer junk, in pieces, too much, or nothing.
//
// It is for tests, and never imported by code that ships.
package probetest
