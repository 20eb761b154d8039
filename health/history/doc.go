// Package history keeps the transitions of backends with what was seen, for whoever asks
// later why one was out.
//
// It judges nothing and logs no transition; package l4 does. It keeps no sessions.
//
// # Design
//
// A ring in memory for each backend, and, with a directory, lines of JSON on disk. Entries
// come with locks held that sessions need, so Add does no more than to put an entry into
// its ring and into a queue; one goroutine writes what is queued, each batch with one call.
// If the disk is too slow for the queue, or full, the rings go on and the loss is counted
// and said.
//
// The file is only ever appended to. What kill -9 leaves is whole lines but perhaps for the
// last one, which the next start passes over, beginning a line of its own. It is not
// synced: what a power cut takes is what the system had not written yet, some seconds.
// When it has reached its size it becomes the older of two, so the disk is bounded as the
// rings are. Who starts reads both, into the rings: of a file twice as long as it can become
// here the end only, and nothing that is no regular file, so that neither holds up the start.
//
// A directory belongs to one process at a time, by a lock; a second one keeps its history
// in memory.
package history
