// Package stream is a protocol for bulk data and echo over TCP in which a lost,
// doubled, swapped or changed byte is noticed: its server and its client.
//
// It measures nothing, and is no test of speed by itself.
//
// # Design
//
// The client's first byte says what it wants:
//
//	D  download: the server sends blocks until the client sends any byte, then the end block
//	U  upload: the client sends blocks, then the end block; the server answers with their number
//	E  echo: every byte comes back
//
// A block has 64 KiB: its number, and a pattern of no period. The end block has the
// greatest number of 64 bits, and after it the number of blocks before. All is
// checked while it is read, at the cost of a comparison.
//
// A download is ended by a byte and not by half of a close, because not every
// balancer passes that on (nginx does not by default).
package stream
