package stream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrWrong means that what was received is not what was sent.
var ErrWrong = errors.New("stream: wrong bytes")

const (
	blockSize = 64 << 10
	// batch is how many blocks are written at once.
	batch = 4
	// endMark is the number of the end block.
	endMark = ^uint64(0)
)

// newPattern returns a block without its number: the same bytes everywhere, random
// ones, so that nothing of it looks like another part.
func newPattern() []byte {
	b := make([]byte, blockSize)
	r := rand.NewChaCha8([32]byte([]byte("the same bytes at every one's end")))
	_, _ = r.Read(b) // it never fails
	return b
}

// writer makes blocks.
type writer struct {
	buf  []byte
	next uint64
}

func newWriter() *writer {
	return &writer{buf: bytes.Repeat(newPattern(), batch)}
}

// blocks returns the next batch. It is valid until the next call.
func (w *writer) blocks() []byte {
	for i := range batch {
		binary.BigEndian.PutUint64(w.buf[i*blockSize:], w.next)
		w.next++
	}
	return w.buf
}

// end returns the end block.
func (w *writer) end() []byte {
	b := newPattern()
	binary.BigEndian.PutUint64(b, endMark)
	binary.BigEndian.PutUint64(b[8:], w.next)
	return b
}

// checker checks blocks that arrive in any portions.
type checker struct {
	pattern []byte
	head    [16]byte // of the current block: its number, and what the end block has after it
	at      int      // in the current block
	next    uint64   // number of the current block, = blocks before it
	ended   bool     // the end block is complete
}

func newChecker() *checker { return &checker{pattern: newPattern()} }

// feed checks the next bytes. Errors wrap ErrWrong.
func (c *checker) feed(b []byte) error {
	for len(b) > 0 {
		if c.ended {
			return fmt.Errorf("%w: %d after the end", ErrWrong, len(b))
		}
		var n int
		if c.at < len(c.head) {
			n = copy(c.head[c.at:], b)
		} else {
			n = min(len(b), blockSize-c.at)
			if !bytes.Equal(b[:n], c.pattern[c.at:c.at+n]) {
				return fmt.Errorf("%w: in block %d near %d", ErrWrong, c.next, c.at)
			}
		}
		c.at += n
		b = b[n:]
		if err := c.step(); err != nil {
			return err
		}
	}
	return nil
}

// step looks at a block whose head, or the whole, has just become complete.
func (c *checker) step() error {
	switch c.at {
	case len(c.head):
		return c.checkHead()
	case blockSize:
		c.at = 0
		c.ended = binary.BigEndian.Uint64(c.head[:]) == endMark
		if !c.ended {
			c.next++
		}
	}
	return nil
}

func (c *checker) checkHead() error {
	number, after := binary.BigEndian.Uint64(c.head[:]), c.head[8:]
	if number == endMark {
		if total := binary.BigEndian.Uint64(after); total != c.next {
			return fmt.Errorf("%w: %d blocks arrived of %d", ErrWrong, c.next, total)
		}
		return nil
	}
	if number != c.next || !bytes.Equal(after, c.pattern[8:len(c.head)]) {
		return fmt.Errorf("%w: block %d where %d belongs", ErrWrong, number, c.next)
	}
	return nil
}
