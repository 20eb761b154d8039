//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	streamPeriod = 1<<20 + 7 // a prime, so that no buffer's size is a part of it
	streamPiece  = 64 << 10  // what streamAt returns at most
)

var streamTable = sync.OnceValue(func() []byte {
	table := make([]byte, streamPeriod+streamPiece)
	pattern(table[:streamPeriod], 0)
	copy(table[streamPeriod:], table)
	return table
})

// streamAt returns the n bytes that stand at offset of an endless stream. Unlike pattern it costs nothing, at the price
// of a period, so bulk can be checked under the race detector.
func streamAt(offset int64, n int) []byte {
	at := int(offset % streamPeriod)
	return streamTable()[at : at+n]
}

// pour sends the stream until that fails and returns why. It tells each write to moved, unless that is nil.
func pour(w io.Writer, moved func(n int)) error {
	for sent := int64(0); ; {
		n, err := w.Write(streamAt(sent, streamPiece))
		sent += int64(n)
		if moved != nil {
			moved(n)
		}
		if err != nil {
			return err
		}
	}
}

// checker reads a stream and fails at the first byte that is not the right one.
type checker struct {
	r     io.Reader
	total int64
	buf   []byte
}

// newChecker reads at most size bytes at once.
func newChecker(r io.Reader, size int) *checker { return &checker{r: r, buf: make([]byte, size)} }

// read reads once and checks what came.
func (k *checker) read() (int, error) {
	n, err := k.r.Read(k.buf)
	if !bytes.Equal(k.buf[:n], streamAt(k.total, n)) {
		return n, fmt.Errorf("wrong bytes after %d right ones", k.total)
	}
	k.total += int64(n)
	return n, err
}

// rest reads to the end and returns why it ended: io.EOF if that is in order.
func (k *checker) rest() error {
	for {
		if _, err := k.read(); err != nil {
			return err
		}
	}
}
