package demo

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Control sequences (ECMA-48, and DEC's private mode 7) that every terminal in use knows.
const (
	cursorUp   = "\x1b[%dA\r"
	clearBelow = "\x1b[J"
	clearRight = "\x1b[K"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
)

// screen writes lines, and below them, on a terminal, a block that is redrawn in place.
type screen struct {
	live, color bool

	mu    sync.Mutex // guards the rest
	w     io.Writer
	open  bool     // what is printed before is kept, so that the introduction comes first
	kept  []string // until open
	block []string // as it stands on the terminal
}

// Terminal tells how to write to w: live if it is a terminal that can redraw lines, in
// color unless NO_COLOR (no-color.org) asks for none. A console of Windows may take
// control sequences or show them, so it counts as none that can.
func Terminal(w io.Writer, getenv func(string) string) (live, color bool) {
	f, ok := w.(*os.File)
	if !ok || runtime.GOOS == "windows" {
		return false, false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false, false
	}
	if term := getenv("TERM"); term == "" || term == "dumb" {
		return false, false
	}
	return true, getenv("NO_COLOR") == ""
}

// begin writes the introduction, and then what was printed before it.
func (s *screen) begin(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	s.write(append(lines, s.kept...), nil)
	s.kept = nil
}

// print writes lines above the block.
func (s *screen) print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		s.kept = append(s.kept, lines...)
		return
	}
	s.write(lines, s.block)
}

// draw replaces the block; without a terminal it does nothing.
func (s *screen) draw(block []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		s.write(nil, block)
	}
}

// write takes the old block away, writes lines, and draws a block below, in one go, so
// that no half-drawn state is seen. A line of the block that is too long for the
// terminal is cut by it: wrapped, it would count as one line and take two. What is cut
// has all been written to the last column, which clearRight therefore empties. An error
// has nobody to be told to. With mu held.
func (s *screen) write(lines, block []string) {
	var out strings.Builder
	if len(s.block) > 0 {
		fmt.Fprintf(&out, cursorUp+clearBelow, len(s.block))
	}
	for _, l := range lines {
		out.WriteString(l + "\n")
	}
	if len(block) > 0 {
		out.WriteString(wrapOff + strings.Join(block, clearRight+"\n") + clearRight + "\n" + wrapOn)
	}
	s.block = block
	io.WriteString(s.w, out.String())
}
