// Package config reads the file of sluice, checks it, and prints it back with every default filled in.
//
// It does not open listeners, probe backends or know how any value is used: it imports none of l4, picker and
// health, and whoever wires them maps these plain values onto theirs.
//
// # Design
//
// Four stages, each over plain data:
//
//   - tree.go turns the tokens of a YAML scanner into a tree of nodes with places. Only the part of YAML a
//     configuration needs is accepted (no anchors, tags, block text or several documents), so the work is linear
//     in the size of the file and bounded in depth.
//   - decode.go fills the structs from the tree. Which keys a block has is written once, in keys.go; decoding,
//     printing, inheritance from `defaults` and the test of docs/config.md all walk that list.
//   - validate*.go checks the filled structs. Faults name a path ("services[0].check.port"); where a path came from,
//     a place in a file or a command-line flag, is looked up last, so files and flags share one validator.
//   - elsewhere.go is the one table of words that other programs have for keys of this format.
//
// Every stage reports all its faults; only a file that is not YAML stops at the first.
package config
