// Package picker holds the policies that choose a backend for a session.
//
// A [Picker] is built by [New] over a fixed list of backends and never changes
// afterwards. [Picker.Pick] takes the hash of a client and the indexes to avoid
// and returns an index into that list. Whenever the list changes, the caller
// builds another picker and swaps it in.
//
// # What it does not do
//
// It has no clock, no goroutine, no log and no lock. It does not know whether a
// backend is up, full or draining: the caller leaves out those that are not
// usable and puts into the avoid set those that this session has tried or may
// not use. It counts no sessions, it only reads the counters it was lent. It
// has no slow start: the caller ramps [Backend.Weight] and rebuilds. Without
// that, least-conn gives a backend that joins with no sessions every new
// session until it has caught up with the others.
//
// # Policies
//
//	round-robin  smooth weighted turns (the order of nginx)
//	least-conn   least (load+1)/weight among all, ties at random
//	p2c          the better of two distinct random ones by (load+1)/weight
//	random       at random in proportion to the weights
//	source-hash  consistent hash ring over the client
//	maglev       consistent lookup table over the client
//	first        the first in the given order
//
// # Design
//
// Everything that can be worked out beforehand is worked out in New, so a pick
// is a table read (round-robin, random, source-hash, maglev) or one scan
// (least-conn, first). Nothing in a pick allocates or waits, and every loop is
// bounded by the size of a table or by the number of backends.
//
// State that must outlive a rebuild stays with the caller and is lent by
// pointer: the load of each backend and the position of round-robin.
//
// The load that is compared is (load+1)/weight, the load as it would be after
// the pick. With load/weight every idle backend would be equal whatever its
// weight.
//
// Round-robin draws positions from one atomic counter and reads a cycle that was
// unrolled by New. Picks with some backends avoided draw from a counter of their
// own, so that retries do not shift the turns of others. A position that falls on an avoided backend is used up and
// the next one drawn, so that the remaining backends keep their proportions;
// stepping on locally would give the whole share of an avoided backend to its
// successor in the cycle. A cycle of more than 65,536 turns, in lowest terms,
// which takes more than 256 backends, is played with weights scaled down to fit,
// to no less than 1. Cores that pick at the same time pass one cache line around;
// that is what a pick costs under contention.
//
// The ring gives every backend points that depend on its own ID, its weight and
// the points per unit of weight, and on nothing else. The points of a backend
// are a prefix of one infinite sequence, so more weight adds points and moves
// none. Avoiding a backend is the same as leaving it out: each of its keys goes
// to the next point of another one, and every other key stays. Points are
// placed by the top bits of their hash, and the same buckets then serve the
// lookup, so building needs no general sort and finding needs no binary search.
//
// Maglev has the evener shares, in a table of fixed size, 65,537 entries; in
// exchange a few keys of the other backends move when the set changes (less
// than a hundredth when one of up to a hundred goes, as measured). A backend that is avoided
// without a rebuild moves only its own keys. Every backend has an entry, however
// light: a walk along the table finds it when all others are avoided.
//
// Both tables are built in the order of the IDs, so instances that list the same
// backends in a different order agree about every client. [Picker.Digest]
// proves it.
//
// IDs are hashed by xxhash64, which is specified and does not change between
// releases; the hashes of the standard library are seeded for each process.
package picker
