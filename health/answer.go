package health

import (
	"bytes"
	"fmt"
	"regexp"
)

// eager is how many bytes a regular expression is run over while an answer comes in,
// before it has to wait for the answer to grow. It is more than an honest answer costs.
const eager = 1 << 20

// wanted is what a step expects: a text, an expression, or nothing.
type wanted struct {
	text    []byte
	pattern *regexp.Regexp
}

func (w wanted) nothing() bool { return len(w.text) == 0 && w.pattern == nil }

func (w wanted) String() string {
	if w.pattern == nil {
		return quoted(w.text)
	}
	s := w.pattern.String()
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return fmt.Sprintf("a match of %#q", s)
}

// answer is what a step has received so far, and how far it was searched. The work is
// linear in the bytes received, even if they come one by one.
type answer struct {
	wanted
	data []byte
	end  int // of the match, once found

	searched int // a match of text that ends before here was looked for
	worked   int // bytes that pattern was run over
}

// found looks for what is wanted. Before the last look it may put a search off, and so
// miss a match that a later look will find.
func (a *answer) found(last bool) bool {
	if a.pattern != nil {
		return a.matches(last)
	}
	from := max(0, a.searched-len(a.text)+1)
	a.searched = len(a.data)
	at := bytes.Index(a.data[from:], a.text)
	if at < 0 {
		return false
	}
	a.end = from + at + len(a.text)
	return true
}

// matches runs the expression over the whole answer, since a match may begin anywhere and
// the package keeps no state between two runs. Once that has cost a lot, it
// waits for the answer to grow by an eighth, which makes the sum of all runs a geometric series.
func (a *answer) matches(last bool) bool {
	grown := len(a.data) - a.searched
	if grown == 0 || !last && a.worked > eager && grown < a.searched/8 {
		return false
	}
	a.searched = len(a.data)
	a.worked += len(a.data)
	at := a.pattern.FindIndex(a.data)
	if at == nil {
		return false
	}
	a.end = at[1]
	return true
}
