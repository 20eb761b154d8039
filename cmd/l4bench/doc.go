// Command l4bench measures TCP balancers on loopback.
//
// This package holds the command line: one file a command, flags in, tables and files
// out. What measures is package bench's.
package main
