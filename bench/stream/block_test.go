package stream

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// whole returns a complete stream of batches.
func whole(batches int) []byte {
	w := newWriter()
	var all []byte
	for range batches {
		all = append(all, w.blocks()...)
	}
	return append(all, w.end()...)
}

// block returns the bounds of the i-th block.
func block(i int) (from, to int) { return i * blockSize, (i + 1) * blockSize }

func TestAStreamIsRightInWhateverPortions(t *testing.T) {
	all := whole(2)
	for _, size := range []int{1, 7, 15, 16, 17, 4096, blockSize - 1, blockSize, blockSize + 1, 3 * blockSize, len(all)} {
		c := newChecker()
		for portion := range slices.Chunk(all, size) {
			if err := c.feed(portion); err != nil {
				t.Fatalf("in portions of %d: %v", size, err)
			}
		}
		if !c.ended || c.next != 2*batch {
			t.Errorf("in portions of %d: ended %v after %d blocks", size, c.ended, c.next)
		}
	}
}

func TestAStreamThatEndsAtOnceIsRight(t *testing.T) {
	c := newChecker()
	if err := c.feed(whole(0)); err != nil || !c.ended || c.next != 0 {
		t.Errorf("%v, ended %v after %d blocks", err, c.ended, c.next)
	}
}

func TestWhatIsNotAsSentIsNoticed(t *testing.T) {
	a0, a1 := block(1)
	b0, b1 := block(2)
	tests := []struct {
		name  string
		spoil func([]byte) []byte
	}{
		{"a byte changed", func(b []byte) []byte { b[a0+1000] ^= 1; return b }},
		{"the first byte changed", func(b []byte) []byte { b[0] ^= 1; return b }},
		{"a byte after the number changed", func(b []byte) []byte { b[a0+9] ^= 1; return b }},
		{"two bytes swapped", func(b []byte) []byte { b[a0+100], b[a0+101] = b[a0+101], b[a0+100]; return b }},
		{"two blocks swapped", func(b []byte) []byte {
			return slices.Concat(b[:a0], b[b0:b1], b[a0:a1], b[b1:])
		}},
		{"a block lost", func(b []byte) []byte { return slices.Concat(b[:a0], b[a1:]) }},
		{"a block doubled", func(b []byte) []byte { return slices.Concat(b[:a1], b[a0:]) }},
		{"the last block lost", func(b []byte) []byte {
			return slices.Concat(b[:len(b)-2*blockSize], b[len(b)-blockSize:])
		}},
		{"a byte lost", func(b []byte) []byte { return slices.Concat(b[:a0+5000], b[a0+5001:]) }},
		{"a byte doubled", func(b []byte) []byte { return slices.Concat(b[:a0+5001], b[a0+5000:]) }},
		{"a page lost", func(b []byte) []byte { return slices.Concat(b[:a0+4096], b[a0+8192:]) }},
		{"a byte after the end", func(b []byte) []byte { return append(b, 0) }},
		{"the end changed", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newChecker()
			if err := c.feed(tt.spoil(whole(2))); !errors.Is(err, ErrWrong) {
				t.Errorf("%v, ended %v", err, c.ended)
			}
		})
	}
}

func TestAStreamThatIsCutHasNotEnded(t *testing.T) {
	all := whole(1)
	for _, n := range []int{0, 1, blockSize, len(all) - 1} {
		c := newChecker()
		if err := c.feed(all[:n]); err != nil || c.ended {
			t.Errorf("after %d bytes: %v, ended %v", n, err, c.ended)
		}
	}
}

func TestThePatternHasNoPeriod(t *testing.T) {
	p := newPattern()
	if !bytes.Equal(p, newPattern()) {
		t.Fatal("two ends have different patterns")
	}
	for _, shift := range []int{1, 2, 8, 64, 512, 1024, 4096, 8192, 16384, 32768} {
		if bytes.Equal(p[shift:shift+64], p[:64]) {
			t.Errorf("shifted by %d it looks the same", shift)
		}
	}
}

func FuzzAChangedByteIsNoticed(f *testing.F) {
	f.Add(uint32(0), byte(1), uint16(1))
	f.Add(uint32(blockSize+9), byte(255), uint16(4096))
	f.Add(uint32(5*blockSize-1), byte(128), uint16(65535))
	f.Fuzz(func(t *testing.T, at uint32, change byte, size uint16) {
		all := whole(1)
		all[int(at)%len(all)] ^= change
		c := newChecker()
		var err error
		for portion := range slices.Chunk(all, int(size)+1) {
			if err = c.feed(portion); err != nil {
				break
			}
		}
		if right := err == nil && c.ended; right != (change == 0) {
			t.Errorf("byte %d changed by %d: %v, ended %v", at, change, err, c.ended)
		}
	})
}
